"""Foreign code tries to get out, to look around, to stay, and to take more than its share; over every real sandbox."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
import textwrap
import threading
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from skillopt.agents.sandbox import Limits, Ran, Sandbox, SandboxError, collect, sandbox

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module", params=["bubblewrap", "namespaces"])
def box(request: pytest.FixtureRequest) -> Sandbox:
    try:
        return sandbox(request.param)
    except SandboxError as refusal:
        pytest.skip(str(refusal))


@pytest.fixture
def work(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    return folder


@pytest.fixture
def token() -> Iterator[str]:
    """A word on the command line of every process of a test; none of them may be left."""
    word = uuid.uuid4().hex
    yield word
    assert not alive(word)


def alive(word: str) -> list[str]:
    found: list[str] = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            line = (path / "cmdline").read_bytes()
        except OSError:
            continue
        if word.encode() in line and int(path.name) != os.getpid():
            found.append(f"{path.name} {line!r}")
    return found


async def attempt(
    box: Sandbox, work: Path, source: str, *words: object, limits: Limits | None = None, inputs: tuple[Path, ...] = ()
) -> Ran:
    argv = ("python", "-I", "-S", "-c", textwrap.dedent(source), *map(str, words))
    return await box.run(argv, work=work, readable=inputs, limits=limits or Limits(seconds=20))


async def said(box: Sandbox, work: Path, source: str, *words: object, inputs: tuple[Path, ...] = ()) -> list[str]:
    ran = await attempt(box, work, source, *words, inputs=inputs)
    assert ran.ok, ran
    return ran.stdout.splitlines()


async def test_the_home_directory_holds_nothing_but_the_way_to_the_interpreter(box: Sandbox, work: Path) -> None:
    home = Path.home()
    seen = await said(box, work, "import os, sys; print(*os.listdir(sys.argv[1]), sep='\\n')", "/")
    assert not {"home", "work", "mnt", "var", "sys", "run", "srv"} & set(seen)
    look = "import os, sys\nif os.path.exists(sys.argv[1]): print(*os.listdir(sys.argv[1]), sep='\\n')"
    prefixes = [Path(place) for place in (sys.prefix, sys.base_prefix)]
    allowed = {place.relative_to(home).parts[0] for place in prefixes if place.is_relative_to(home)}
    assert set(await said(box, work, look, home)) <= allowed


async def test_gold_beside_the_input_is_nowhere(box: Sandbox, work: Path, tmp_path: Path) -> None:
    given, gold = tmp_path / "1_input.xlsx", tmp_path / "1_golden.xlsx"
    given.write_text("question")
    gold.write_text("answer")
    hunt = """
    import os, sys
    print(open("/input/1_input.xlsx").read())
    for guess in (sys.argv[1], "/input/1_golden.xlsx", "/input/../" + sys.argv[1], "/proc/1/root" + sys.argv[1],
                  "/proc/self/cwd/../1_golden.xlsx", "/old" + sys.argv[1]):
        try:
            print("found", open(guess).read())
        except OSError:
            pass
    for folder, _, names in os.walk("/"):
        if not folder.startswith(("/proc", "/usr/")):
            print(*("found " + folder + name for name in names if "golden" in name), end="")
    try:
        open("/input/1_input.xlsx", "a")
    except OSError:
        print("closed")
    """
    assert await said(box, work, hunt, gold, inputs=(given,)) == ["question", "closed"]


async def test_the_checkout_cannot_be_read_or_imported(box: Sandbox, work: Path) -> None:
    """Its folder may be there, empty, where the interpreter's environment lies inside it."""
    source = """
    import os, sys
    print(os.path.exists(sys.argv[1] + "/pyproject.toml"), os.path.exists(sys.argv[1] + "/skillopt"))
    sys.path.insert(0, sys.argv[1])
    try:
        import skillopt
    except ImportError:
        print("absent")
    """
    assert await said(box, work, source, ROOT) == ["False False", "absent"]


async def test_no_passwords_no_keys_no_kernel_settings(box: Sandbox, work: Path) -> None:
    source = """
    import os
    for path in ("/etc/passwd", "/etc/shadow", "/etc/ssh", "/etc/hosts", "/run", "/var", "/sys", "/home"):
        assert not os.path.exists(path), path
    for path in ("/proc/sys/kernel/core_pattern", "/proc/sysrq-trigger", "/proc/sys/vm/drop_caches"):
        try:
            os.open(path, os.O_WRONLY)
            print("opened", path)
        except OSError:
            pass
    for path in ("/proc/kcore", "/proc/kmsg", "/proc/kallsyms"):
        try:
            data = open(path, "rb").read(64)
            assert path == "/proc/kallsyms" and data.startswith(b"0000000000000000"), path
        except OSError:
            pass
    """
    assert await said(box, work, source) == []


async def test_a_listener_on_the_host_hears_nothing(box: Sandbox, work: Path, tmp_path: Path) -> None:
    heard: list[str] = []
    name = f"\0skillopt-{uuid.uuid4().hex}"
    path = str(tmp_path / "s")
    with (
        socket.create_server(("127.0.0.1", 0)) as loopback,
        socket.socket(socket.AF_UNIX) as abstract,
        socket.socket(socket.AF_UNIX) as named,
    ):
        abstract.bind(name)
        named.bind(path)
        servers = (loopback, abstract, named)
        for server in servers:
            server.listen()
            server.settimeout(5)
            threading.Thread(target=_hear, args=(server, heard), daemon=True).start()
        source = """
        import socket, sys
        port, name, path = sys.argv[1:]
        for family, address in ((socket.AF_INET, ("127.0.0.1", int(port))), (socket.AF_UNIX, "\\0" + name),
                                (socket.AF_UNIX, path), (socket.AF_INET, ("1.1.1.1", 53))):
            try:
                socket.socket(family).connect(address)
                print("connected", address)
            except OSError:
                pass
        for family in (40, 16, 17, 38):
            try:
                socket.socket(family, socket.SOCK_DGRAM)
                print("family", family)
            except OSError:
                pass
        """
        assert await said(box, work, source, loopback.getsockname()[1], name[1:], path) == []
        for server in servers:
            server.shutdown(socket.SHUT_RDWR)
    assert heard == []


def _hear(server: socket.socket, heard: list[str]) -> None:
    try:
        server.accept()
    except OSError:
        return
    heard.append("a guest")


async def test_forks_are_bounded(box: Sandbox, work: Path) -> None:
    source = """
    import os, time
    made = 0
    try:
        while made < 200:
            if os.fork() == 0:
                time.sleep(30)
                os._exit(0)
            made += 1
    except BlockingIOError:
        print(made)
    """
    ran = await attempt(box, work, source, limits=Limits(seconds=10, processes=20))
    assert ran.ok and int(ran.stdout) in (19, 20)


async def test_orphans_are_reaped_so_that_a_long_program_can_go_on_forking(box: Sandbox, work: Path) -> None:
    source = """
    import os, time
    for _ in range(40):
        child = os.fork()
        if child == 0:
            if os.fork() == 0:
                os._exit(0)
            os._exit(0)
        os.waitpid(child, 0)
        time.sleep(0.02)
    """
    assert (await attempt(box, work, source, limits=Limits(seconds=20, processes=20))).ok


async def test_a_fork_bomb_ends_with_its_time_and_the_host_stays_responsive(
    box: Sandbox, work: Path, token: str
) -> None:
    source = """
    import os
    while True:
        try:
            os.fork()
        except OSError:
            pass
    """
    running = asyncio.ensure_future(
        attempt(box, work, source, token, limits=Limits(seconds=1.5, processes=32, memory_mb=512))
    )
    most = longest = 0.0
    while not running.done():
        since = time.monotonic()
        await asyncio.sleep(0.02)
        longest = max(longest, time.monotonic() - since)
        most = max(most, len(alive(token)))
    ran = await running
    assert ran.ended == "timeout"
    # Starter, first process, and 32 of the program's.
    assert most <= 36
    assert longest < 2


@pytest.mark.parametrize(
    ("source", "ended"),
    [
        ("x = bytearray(1 << 30)", "exit"),
        ("x = []\nwhile True: x.append(bytearray(1 << 20))", "exit"),
        (
            "import os, time\nfor _ in range(6): os.fork()\n"
            "x = bytearray(20 << 20)\nfor i in range(0, len(x), 4096): x[i] = 1\ntime.sleep(20)",
            "memory",
        ),
        (
            "import mmap, os, time\nfor _ in range(5): os.fork()\n"
            "x = mmap.mmap(-1, 30 << 20)\nfor i in range(0, len(x), 4096): x[i] = 1\ntime.sleep(20)",
            "memory",
        ),
    ],
    ids=["at once", "slowly", "by many", "shared"],
)
async def test_memory_is_bounded(box: Sandbox, work: Path, token: str, source: str, ended: str) -> None:
    ran = await attempt(box, work, source, token, limits=Limits(seconds=20, memory_mb=300))
    assert ran.ended == ended
    assert ended == "memory" or "MemoryError" in ran.stderr


async def test_memory_that_no_limit_counts_is_refused(box: Sandbox, work: Path) -> None:
    source = """
    import ctypes, os
    libc = ctypes.CDLL(None, use_errno=True)
    print(libc.shmget(0, 1 << 20, 0o1600), libc.msgget(0, 0o1600))
    try:
        os.memfd_create("x")
        print("made")
    except PermissionError:
        print("refused")
    """
    assert await said(box, work, source) == ["-1 -1", "refused"]


async def test_the_disk_is_bounded_even_for_files_without_a_name(box: Sandbox, work: Path) -> None:
    source = """
    import os
    for folder in ("/box", "/tmp", "/dev/shm"):
        written, handles = 0, []
        try:
            while True:
                handles.append(os.open(folder + "/x", os.O_CREAT | os.O_EXCL | os.O_WRONLY))
                os.unlink(folder + "/x")
                for _ in range(4):
                    written += os.write(handles[-1], bytes(1 << 20))
        except OSError as error:
            print(written >> 20, error.strerror)
        for handle in handles:
            os.close(handle)
    """
    seen = await attempt(box, work, source, limits=Limits(seconds=20, disk_mb=8))
    assert seen.ok and [line.split()[0] for line in seen.stdout.splitlines()] == ["8", "8", "64"]
    assert list(work.iterdir()) == []


async def test_one_file_cannot_be_longer_than_the_disk(box: Sandbox, work: Path) -> None:
    source = "import os\nwith open('/box/x', 'wb') as f: f.truncate(1 << 40)"
    ran = await attempt(box, work, source, limits=Limits(disk_mb=8))
    assert not ran.ok and "File too large" in ran.stderr


async def test_a_million_empty_files_are_stopped(box: Sandbox, work: Path) -> None:
    source = "import os\nn = 0\nwhile True:\n n += 1\n os.close(os.open(f'/tmp/{n}', os.O_CREAT))"
    ran = await attempt(box, work, source, limits=Limits(seconds=20))
    assert ran.ended == "disk"


async def test_nothing_outside_can_be_written(box: Sandbox, work: Path, tmp_path: Path) -> None:
    given = tmp_path / "given"
    given.mkdir()
    source = """
    import os, sys
    places = ("/", "/usr/lib", "/usr/bin", "/etc", "/dev", "/.start", "/.start/inside", "/input", "/input/given")
    for place in (*places, sys.prefix + "/lib"):
        try:
            os.close(os.open(place + "/x", os.O_CREAT | os.O_WRONLY))
            print("wrote", place)
        except OSError:
            pass
        try:
            os.chmod(place, 0o777)
            print("changed", place)
        except OSError:
            pass
    """
    assert await said(box, work, source, inputs=(given,)) == []
    assert list(given.iterdir()) == []


async def test_links_and_pipes_stay_behind(box: Sandbox, work: Path, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("gold")
    source = """
    import os, sys
    os.symlink(sys.argv[1], "out.xlsx")
    os.symlink("/", "everything")
    os.mkfifo("pipe")
    os.mkdir("folder")
    os.symlink(sys.argv[1], "folder/link")
    open("good", "w").write("good")
    """
    ran = await attempt(box, work, source, secret)
    assert ran.ok and set(ran.refused) == {"out.xlsx", "everything", "pipe", "folder/link"}
    assert {path.name for path in work.rglob("*")} == {"folder", "good"}
    assert collect(work, "out.xlsx") is None and collect(work, "good") == b"good"


async def test_signals_stay_inside(box: Sandbox, work: Path) -> None:
    source = """
    import os, signal, sys
    for target in (1, os.getppid()):
        for number in (signal.SIGKILL, signal.SIGSTOP, signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            os.kill(target, number)
    for target in map(int, sys.argv[1:]):
        try:
            os.kill(target, 0)
            print("seen", target)
        except ProcessLookupError:
            pass
    try:
        os.kill(-1, signal.SIGTERM)
    except ProcessLookupError:
        pass
    print("alive")
    """
    assert await said(box, work, source, os.getpid(), os.getppid()) == ["alive"]


async def test_the_first_process_cannot_be_looked_into(
    box: Sandbox, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET_TOKEN", "hidden-4711")
    source = """
    import ctypes, glob, os
    libc = ctypes.CDLL(None, use_errno=True)
    print(libc.ptrace(16, 1, 0, 0), libc.ptrace(0, 0, 0, 0), sorted(os.listdir("/proc/self/fd"))[:3])
    for name in ("environ", "mem", "maps", "root/etc", "fd", "cwd/x"):
        path = "/proc/1/" + name
        try:
            print("read", path, os.listdir(path) if name in ("fd", "root/etc") else open(path, "rb").read(10))
        except OSError:
            pass
    for path in glob.glob("/proc/[0-9]*/environ"):
        try:
            assert b"hidden" not in open(path, "rb").read()
        except OSError:
            pass
    assert "SECRET_TOKEN" not in os.environ and set(os.environ) <= {
        "PATH", "HOME", "TMPDIR", "LANG", "LC_CTYPE", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"}
    print(len(glob.glob("/proc/[0-9]*")))
    """
    assert await said(box, work, source) == ["-1 -1 ['0', '1', '2']", "2"]


async def test_no_way_to_more_rights(box: Sandbox, work: Path) -> None:
    source = """
    import ctypes, os
    libc = ctypes.CDLL(None, use_errno=True)
    status = dict(line.split(":\\t") for line in open("/proc/self/status").read().splitlines() if ":\\t" in line)
    print(*{status[name] for name in ("CapInh", "CapPrm", "CapEff", "CapAmb")}, status["NoNewPrivs"], status["Seccomp"])
    print(libc.mount(b"none", b"/tmp", b"tmpfs", 0, None), libc.umount2(b"/usr/lib", 2), libc.chroot(b"/tmp"))
    print([libc.unshare(flag) for flag in (0x10000000, 0x20000, 0x40000000)], libc.setns(0, 0))
    print([libc.syscall(number, 0, 0, 0, 0, 0) for number in (435, 425, 321, 428, 250)])
    print(libc.syscall(56, 0x10000000 | 17, 0, 0, 0, 0) if os.uname().machine == "x86_64" else -1)
    device = lambda: os.mknod("d", 0o20666, os.makedev(1, 1))
    for change in (lambda: os.setuid(4711), lambda: os.setgroups([0]), device):
        try:
            change()
            print("changed")
        except OSError:
            pass
    """
    zero = "0000000000000000"
    refused = ["-1 -1 -1", "[-1, -1, -1] -1", "[-1, -1, -1, -1, -1]", "-1"]
    assert await said(box, work, source) == [f"{zero} 1 2", *refused]


async def test_set_user_bits_mean_nothing(box: Sandbox, work: Path) -> None:
    source = """
    import os, shutil, subprocess
    shutil.copy("/usr/bin/id", "id")
    os.chmod("id", 0o6755)
    before = os.getuid()
    print(subprocess.run(["./id", "-u"], capture_output=True, text=True).stdout.strip() == str(before))
    if os.path.exists("/usr/bin/su"):
        print(subprocess.run(["/usr/bin/su", "-c", "true"], capture_output=True, input=b"").returncode == 0)
    """
    assert (await said(box, work, source))[0] == "True"
    assert "True" not in (await said(box, work, source))[1:]


async def test_a_daemon_does_not_outlive_its_run(box: Sandbox, work: Path, token: str) -> None:
    source = """
    import os, signal, sys, time
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
                signal.signal(number, signal.SIG_IGN)
            while True:
                time.sleep(1)
        os._exit(0)
    os.wait()
    """
    ran = await attempt(box, work, source, token)
    assert ran.ok and ran.seconds < 5


async def test_time_is_exact_and_signals_ignored_do_not_help(box: Sandbox, work: Path, token: str) -> None:
    source = """
    import signal, time
    for number in set(signal.Signals) - {signal.SIGKILL, signal.SIGSTOP}:
        signal.signal(number, signal.SIG_IGN)
    open("left", "w").write("x")
    while True:
        time.sleep(1)
    """
    ran = await attempt(box, work, source, token, limits=Limits(seconds=0.7))
    assert (ran.ended, ran.code, ran.stderr) == ("timeout", None, "")
    assert 0.7 <= ran.seconds < 1.5
    assert list(work.iterdir()) == []


async def test_processor_time_of_a_busy_tree_ends_with_the_wall_clock(box: Sandbox, work: Path, token: str) -> None:
    ran = await attempt(box, work, "import os\nos.fork()\nwhile True: pass", token, limits=Limits(seconds=0.5))
    assert ran.ended == "timeout" and ran.seconds < 2


async def test_endless_output_is_cut_and_ended(box: Sandbox, work: Path, token: str) -> None:
    limits = Limits(seconds=30, output_bytes=1000)
    ran = await attempt(box, work, "while True: print('x' * 4000)", token, limits=limits)
    assert ran.ended == "output" and len(ran.stdout) == 1000 and ran.discarded > 1 << 24


async def test_a_cancelled_run_leaves_no_process(box: Sandbox, work: Path, token: str) -> None:
    source = "import os, time\nos.fork()\nos.fork()\nopen('/tmp/up', 'w')\ntime.sleep(60)"
    task = asyncio.ensure_future(attempt(box, work, source, token))
    while len(alive(token)) < 4:
        await asyncio.sleep(0.02)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_a_killed_parent_takes_its_boxes_along(box: Sandbox, work: Path, token: str) -> None:
    source = f"""
        import asyncio, pathlib
        from skillopt.agents.sandbox import sandbox
        argv = ("python", "-c", "import time; time.sleep(60)", "{token[:9]}" + "{token[9:]}")
        asyncio.run(sandbox("{box.name}").run(argv, work=pathlib.Path("{work}")))
    """
    command = [sys.executable, "-c", textwrap.dedent(source)]
    parent = subprocess.Popen(command, cwd=ROOT)
    try:
        while not alive(token):
            await asyncio.sleep(0.05)
    finally:
        parent.send_signal(signal.SIGKILL)
        parent.wait()
    for _ in range(100):
        if not alive(token):
            return
        await asyncio.sleep(0.05)
    pytest.fail(f"still there: {alive(token)}")
