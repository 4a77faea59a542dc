"""A cluster of Slurm for a test: munge, a controller and two nodes of one processor each, all on this machine, with
ports, keys and directories of their own. Nothing of it is left when the test ends, and no other cluster is touched."""

import os
import pathlib
import pwd
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import time

NODES = ("n1", "n2")
PACKAGES = "slurmctld, slurmd, slurm-client, munge (`./dev test` brings them)"
PATIENCE_S = 90


def command(name):
    """Where Debian has it, also for those who have no /usr/sbin in their PATH."""
    found = shutil.which(name, path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/bin")
    if found is None:
        raise SystemExit(f"there is no {name} here; it is of {PACKAGES}")
    return found


def free_ports(count):
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


class Cluster:
    """`with Cluster() as cluster:` its commands are those of `cluster.call`, its environment `cluster.environment`."""

    def __init__(self, settings=""):
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="hcasim-slurm."))
        self.processes, self.ports = {}, free_ports(1 + len(NODES))
        self.environment = {**os.environ, "SLURM_CONF": str(self.directory / "slurm.conf"),
                            "PATH": f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/bin"}
        for name in ("munged", "slurmctld", "slurmd", "sbatch", "squeue", "scontrol"):
            command(name)
        key = self.directory / "munge.key"
        key.write_bytes(secrets.token_bytes(128))
        key.chmod(0o600)
        me, host = pwd.getpwuid(os.getuid()).pw_name, socket.gethostname().split(".")[0]
        for name in ("state", "log", *NODES):
            (self.directory / name).mkdir()
        where = self.directory
        nodes = "\n".join(f"NodeName={node} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs=1"
                          for node, port in zip(NODES, self.ports[1:]))
        (where / "slurm.conf").write_text(f"""
ClusterName=hcasim{os.getpid()}
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={self.ports[0]}
SlurmUser={me}
SlurmdUser={me}
AuthType=auth/munge
AuthInfo=socket={where}/munge.socket
CredType=cred/munge
MpiDefault=none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerParameters=sched_interval=1,batch_sched_delay=0
ReturnToService=2
KillWait=2
StateSaveLocation={where}/state
SlurmdSpoolDir={where}/%n
SlurmctldPidFile={where}/slurmctld.pid
SlurmdPidFile={where}/%n.pid
SlurmctldLogFile={where}/log/slurmctld
SlurmdLogFile={where}/log/%n
{settings}
{nodes}
PartitionName=all Nodes={",".join(NODES)} Default=YES MaxTime=INFINITE State=UP
""")

    def __enter__(self):
        try:
            where = self.directory
            # --force: that the directory above is nobody else's is what we want.
            self.start("munged", "--foreground", "--force", f"--socket={where}/munge.socket",
                       f"--key-file={where}/munge.key", f"--pid-file={where}/munged.pid",
                       f"--log-file={where}/log/munged", f"--seed-file={where}/munge.seed", "--num-threads=2")
            self.wait_for(lambda: (where / "munge.socket").exists(), "munged has no socket")
            self.start_controller()
            for node in NODES:
                self.start("slurmd", "-D", "-N", node, name=node)
            self.wait_for(lambda: self.states() == {"idle"}, "the nodes are not idle")
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        """Jobs, then whoever runs them, then the rest; what has left its group is found by its command line."""
        for process in reversed(self.processes.values()):
            process.send_signal(signal.SIGTERM)
        for process in self.processes.values():
            try:
                process.wait(timeout=20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait(timeout=20)
        for pid in self.left_behind():
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        shutil.rmtree(self.directory, ignore_errors=True)

    def start(self, program, *arguments, name=None):
        with open(self.directory / "log" / f"{name or program}.said", "wb") as said:
            self.processes[name or program] = subprocess.Popen(
                [command(program), *arguments], stdin=subprocess.DEVNULL, stdout=said, stderr=said,
                env=self.environment, start_new_session=True)

    def start_controller(self):
        self.start("slurmctld", "-D")
        self.wait_for(lambda: "is UP" in self.call("scontrol", "ping", status=None), "slurmctld is not up")

    def stop_controller(self):
        process = self.processes.pop("slurmctld")
        process.send_signal(signal.SIGTERM)
        process.wait(timeout=PATIENCE_S)

    def call(self, *words, status=0):
        """What it says; status=None: whether it succeeds does not matter."""
        ran = subprocess.run([command(words[0]), *map(str, words[1:])], capture_output=True, text=True,
                             env=self.environment, timeout=PATIENCE_S, check=False)
        if status is not None and ran.returncode != status:
            raise SystemExit(f"{words}: status {ran.returncode}: {ran.stdout}{ran.stderr}{self.logs()}")
        return ran.stdout

    def states(self):
        return set(self.call("sinfo", "--noheader", "--Node", "--format=%T", status=None).split())

    def wait_for(self, is_so, otherwise):
        end = time.monotonic() + PATIENCE_S
        while not is_so():
            dead = [name for name, process in self.processes.items() if process.poll() is not None]
            if dead or time.monotonic() > end:
                raise SystemExit(f"{otherwise}; ended: {dead}{self.logs()}")
            time.sleep(0.1)

    def jobs(self):
        """Numbers of all arrays that the controller knows of."""
        said = self.call("scontrol", "--oneliner", "show", "job", status=None)
        return {word.split("=")[1] for line in said.splitlines() for word in line.split()
                if word.startswith("ArrayJobId=")}

    def running(self, state="RUNNING"):
        """Tasks as JOB_TASK."""
        return self.call("squeue", "--noheader", "--array", f"--states={state}", "--format=%F_%K").split()

    def left_behind(self):
        """Processes that know of this cluster: steps of jobs, and what they run."""
        found = []
        for entry in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                text = (entry / "environ").read_bytes() + (entry / "cmdline").read_bytes()
            except OSError: # it has ended meanwhile
                continue
            if str(self.directory).encode() in text and int(entry.name) != os.getpid():
                found.append(int(entry.name))
        return found

    def logs(self):
        text = ""
        for file in sorted((self.directory / "log").iterdir()):
            text += f"\n--- {file.name}\n" + file.read_text(errors="replace")[-1500:]
        return text
