/* Lets the search of the documentation work from disk: a browser starts no Worker from a file, so a frame takes its place. */
if (location.protocol === "file:")
  window.Worker = class extends EventTarget {
    constructor(url) {
      super()
      const frame = document.createElement("iframe")
      frame.hidden = true
      document.body.appendChild(frame)
      this.inside = frame.contentWindow
      this.inside.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }))
      const script = this.inside.document.createElement("script")
      this.started = new Promise((resolve) => (script.onload = resolve))
      script.src = new URL(url, location.href).href
      this.inside.document.body.appendChild(script)
    }
    async postMessage(data) {
      await this.started
      this.inside.dispatchEvent(new MessageEvent("message", { data }))
    }
  }
