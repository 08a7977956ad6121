"""Long work of the server: a durable queue, and one process that works it off.

`queue` keeps the jobs in a file, `worker` is the process, `work` is what each kind of job does, and `supervisor` runs
the process from within the server: starts it, restarts it after a crash, and ends it for a cancelled job.
"""
