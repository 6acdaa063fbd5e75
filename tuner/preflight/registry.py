"""All checks of a preflight, in the order in which they are told. A new one is a function and an entry here."""

from .contract import SpoilerCheck
from .limits import locked_memory, memory_quota, open_files, process_memory, processor_quota, tasks
from .memory import bandwidth, channels, huge_pages, swap
from .processor import boost, clock_limit, clock_source, confined, governor, hardware_threads, mitigations
from .surroundings import disk, disk_rate, network, other_programs

CHECKS: tuple[SpoilerCheck, ...] = (
    SpoilerCheck(
        "other_programs", "other programs", ("programs", "load", "cpus_allowed"), other_programs,
        "The load of the last minute is 0.5 or more for each CPU; a note where a program takes 0.3 cores or more at "
        "this moment. Studies that wait for a quiet machine tell it in place of this.",
        "wait until they end, end them, or ask for a machine of your own",
    ),
    SpoilerCheck(
        "confined", "CPUs to which ranks are bound", ("cpus_allowed",), confined,
        "`taskset` or the like leaves this process a part of the CPUs of its control group.",
        "start hpltune without `taskset`, or in a control group (cpuset) of its own",
    ),
    SpoilerCheck(
        "hardware_threads", "cores", ("cores", "smt"), hardware_threads,
        "More threads are planned than there are cores: hardware threads (SMT) were counted.",
        "plan one thread for each core; in a cluster file lower cores under [node]",
    ),
    SpoilerCheck(
        "governor", "frequency governor", ("governor", "clock_driver"), governor,
        "It is not performance; a warning only where powersave keeps the lowest clock.",
        "`cpupower frequency-set -g performance`, as root",
    ),
    SpoilerCheck(
        "clock_limit", "largest clock that is allowed", ("max_mhz", "allowed_mhz"), clock_limit,
        "scaling_max_freq is below cpuinfo_max_freq.",
        "`cpupower frequency-set -u 100GHz`, as root, lifts the limit, unless it keeps the machine cool",
    ),
    SpoilerCheck(
        "boost", "boost of the clock (turbo)", ("boost",), boost,
        "boost is 0, or no_turbo of intel_pstate is 1.",
        "switch it on in the firmware, or as root by /sys/devices/system/cpu/cpufreq/boost or intel_pstate/no_turbo, "
        "unless runs shall be alike rather than fast",
    ),
    SpoilerCheck(
        "processor_quota", "CPUs that the control group allows", ("cpu_quota",), processor_quota,
        "The quota is below the threads that will compute; a note where it is below the CPUs of the machine.",
        "raise the quota (`docker run --cpus`, CPUQuota= of systemd), or plan fewer threads",
    ),
    SpoilerCheck(
        "memory_quota", "memory that the control group allows", ("memory_limit_gib",), memory_quota,
        "The limit is below what runs take; a note where it is below the memory of the machine.",
        "raise the limit (`docker run --memory`, MemoryMax= of systemd), or choose a smaller N",
    ),
    SpoilerCheck(
        "swap", "used swap space", ("swap_used_gib", "memory_gib"), swap,
        "More than 1 % of the memory is in swap space.",
        "end what takes the memory, then `swapoff -a && swapon -a`, as root",
    ),
    SpoilerCheck(
        "huge_pages", "transparent huge pages", ("transparent_huge_pages",), huge_pages,
        "They are set to never.",
        "`echo madvise >/sys/kernel/mm/transparent_hugepage/enabled`, as root",
    ),
    SpoilerCheck(
        "channels", "memory channels", ("memory_places", "memory_slots"), channels,
        "Only one of several channels is filled; a note where some are empty. The kernel (EDAC) tells it, else "
        "dmidecode to root.",
        "put equal memory modules into slots of all channels, as the board's manual says",
        slow=True,
    ),
    SpoilerCheck(
        "bandwidth", "rate of the memory", ("memory_slots", "dimm_speed"), bandwidth,
        "STREAM's triad reaches less than 40 % of what the filled channels give.",
        "see whether other programs use the memory, and in which slots the modules are",
        slow=True,
    ),
    SpoilerCheck(
        "clock_source", "clock source", ("clock_source",), clock_source,
        "It is hpet, acpi_pm, jiffies or xen, which are read by a system call.",
        "start the kernel with `clocksource=tsc`, where `dmesg` does not say that the tsc is unstable",
    ),
    SpoilerCheck(
        "mitigations", "faults of the processor", ("mitigations",), mitigations,
        "The kernel works around some: a note.",
        "on a machine of your own start the kernel with `mitigations=off`",
    ),
    SpoilerCheck(
        "open_files", "open files", ("limit_nofile", "limit_nofile_hard"), open_files,
        "Fewer than 32 and 4 for each rank of a node may be open.",
        "`ulimit -n 4096`, nofile in /etc/security/limits.conf, or `docker run --ulimit nofile=4096`",
    ),
    SpoilerCheck(
        "tasks", "processes and threads", ("limit_processes", "limit_tasks"), tasks,
        "The user or the control group may have fewer than ranks and threads need.",
        "`ulimit -u`, nproc in /etc/security/limits.conf, or pids.max of the control group (`docker run --pids-limit`)",
    ),
    SpoilerCheck(
        "process_memory", "memory of a process", ("limit_memory",), process_memory,
        "A process may have less (`ulimit -v`) than a rank takes.",
        "`ulimit -v unlimited`, or as in /etc/security/limits.conf",
    ),
    SpoilerCheck(
        "locked_memory", "locked memory", ("limit_memlock",), locked_memory,
        "Several nodes with InfiniBand run together, and less than 64 MiB may be locked.",
        "memlock unlimited in /etc/security/limits.conf, or LimitMEMLOCK=infinity of the batch system's daemon",
    ),
    SpoilerCheck(
        "disk", "disk of the runs", ("work_free_gib", "work_free_files"), disk,
        "Less than 0.5 GiB or 1,000 files are free.",
        "`hpltune clean` frees what hpltune keeps, or let HPLTUNE_DATA and HPLTUNE_CACHE name a larger disk",
    ),
    SpoilerCheck(
        "disk_rate", "rate of the disk of the runs", ("work_mb_s",), disk_rate,
        "All nodes together write 8 MB each at less than 1 MB/s; each stops writing after 2 s.",
        "let HPLTUNE_DATA and HPLTUNE_CACHE name a faster disk, or mend the mount",
        slow=True,
    ),
    SpoilerCheck(
        "network", "network between nodes", ("nic_speed",), network,
        "MPI is told to use an interface beside which a faster one is up, or may take a slower one; else a note which "
        "it uses.",
        "name the fastest with use_interfaces in the cluster file",
    ),
)  # fmt: skip
