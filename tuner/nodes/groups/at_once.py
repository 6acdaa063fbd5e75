"""Runs a job on each group of nodes, all at the same time."""

import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor

from runners.base import Runner
from runners.errors import RunnerError
from runners.hosts.transport import AT_ONCE
from runners.job import Job
from runners.status import JobState, JobStatus

from ...stopping import StopRequest
from .group_hpl import Group

LOOK_S = 0.05
"""Seconds between two looks at the running jobs."""


def run_at_once(runner: Runner, jobs: Mapping[Group, Job], stop: StopRequest) -> Mapping[Group, JobStatus]:
    """Start all jobs, and wait for their ends; a job that cannot be started has failed.

    Returns:
        How each job ended; none of those that were ended because somebody asked for it.
    """
    ended: dict[Group, JobStatus] = {}
    running = {}
    for group, job in jobs.items():
        try:
            running[group] = runner.submit(job)
        except (RunnerError, OSError) as error:
            ended[group] = JobStatus(JobState.FAILED, message=str(error))
    while running:
        if stop.requested:
            with ThreadPoolExecutor(min(AT_ONCE, len(running))) as pool:
                list(pool.map(lambda job_id: runner.cancel([job_id]), running.values()))
        said = runner.poll(list(running.values()))
        ended |= {group: said[job_id] for group, job_id in running.items() if said[job_id].state.final}
        running = {group: job_id for group, job_id in running.items() if group not in ended}
        time.sleep(LOOK_S)
    return {group: status for group, status in ended.items() if status.state is not JobState.CANCELLED}
