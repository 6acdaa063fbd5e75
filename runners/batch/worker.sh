# Runs hpltune's trials inside one job of a batch system, and leaves when hpltune is silent for the lease.
#
#   worker.sh SPOOL LEASE_CS ONCE      hundredths of a second; ONCE is 1 to leave after one trial
#
# In SPOOL, a folder that all nodes see:
#   orders     one line of hpltune's: BEAT TRIAL VERB MARK LIMIT_CS .      VERB is wait, run, stop or leave
#   N.trial    `set -- FOLDER TOKEN...`: the command of trial N and where it runs
#   N.status   ours: "started", then "ended WHY CODE", or "left WHY CODE" where this counts once the job is over
# Before this text stands the function end_steps of the batch system.
# hpltune makes each file before it names it, and both sides rewrite files in place: NFS shows that at once.

set -u
spool=$1 lease=$2 once=$3
idle_s=0.1    # pause between two looks at the orders without a trial
tick_s=0.5    # pause during a trial, whose ranks need the cores
begun= heard= now=0 beaten= done=none wanted=none verb=wait mark=none limit=0 leader=

# Reads the orders. Measures the time since the last beat by its own clock, so that no two clocks are compared.
look() {
    read -r up rest </proc/uptime
    now=${up%.*}${up#*.}
    : "${heard:=$now}"
    if read -r beat number word label hundredths end 2>/dev/null <"$spool/orders" && [ "$end" = . ]; then
        [ "$beat" = "$beaten" ] || { beaten=$beat; heard=$now; }
        wanted=$number verb=$word mark=$label limit=$hundredths
    fi
    [ $((now - heard)) -le "$lease" ]
}

# Lists the processes with the trial's mark. Callers read its output, as grep also fails for processes that just ended.
marked() {
    found=$(grep -lzxF "HPLTUNE_JOB=$mark" /proc/[0-9]*/environ 2>/dev/null)
    [ -n "$found" ]
}

sweep() {
    left=60
    while marked && [ $((left -= 1)) -gt 0 ]; do
        for file in $found; do
            file=${file#/proc/}
            kill -KILL "${file%/environ}" 2>/dev/null
        done
        sleep 0.05
    done
}

# Sends TERM to the launcher and, after three seconds, KILL to all processes left; then exits with a code that says why.
finish() {
    trap '' TERM
    kill -TERM "$leader" 2>/dev/null
    left=30
    while [ $((left -= 1)) -gt 0 ] && marked; do sleep 0.1; done
    sweep
    exit "$1"
}

# Ends with the launcher. TERM alone does not always tell it so: a shell that has just been forked may lose a signal.
watch() {
    while sleep "$tick_s"; do
        kill -0 "$leader" 2>/dev/null || exit 0
        look || finish 12
        [ "$verb" = run ] || finish 10
        [ $((now - begun)) -lt "$limit" ] || finish 11
    done
}

run() {
    begun=$now
    echo started >"$spool/$wanted.status"
    (
        . "$spool/$wanted.trial"
        cd -- "$1" && shift && exec "$@" </dev/null >stdout 2>stderr
    ) &
    leader=$!
    watch &
    watcher=$!
    wait "$leader"
    code=$?
    kill -TERM "$watcher" 2>/dev/null
    wait "$watcher" 2>/dev/null
    case $? in
        10) why=cancelled ;;
        11) why=timeout ;;
        12) why=lease ;;
        *) why=exited ;;
    esac
    sweep
    [ "$why$code" = exited0 ] || end_steps || {
        echo "left $why $code" >>"$spool/$wanted.status"
        echo "steps of trial $wanted may be left: the job ends"
        exit 1
    }
    echo "ended $why $code" >>"$spool/$wanted.status"
    done=$wanted
}

trap 'sweep; exit 143' TERM
[ -r "$spool/orders" ] || { echo "this node does not see $spool"; exit 1; }
mkdir "$spool/begun" || { echo "this job was started a second time"; exit 1; }
while look && [ "$verb" != leave ]; do
    if [ "$verb" = run ] && [ "$wanted" != "$done" ]; then
        run
        [ "$once" = 0 ] || exit 0
    elif [ "$verb" = stop ] && [ "$wanted" != "$done" ]; then
        echo "ended cancelled 0" >"$spool/$wanted.status"
        done=$wanted
    fi
    sleep "$idle_s"
done
[ "$verb" = leave ] || echo "hpltune was not heard of for $((lease / 100)) s: the job ends"
