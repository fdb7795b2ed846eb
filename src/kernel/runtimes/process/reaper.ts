import { type ChildProcess, spawn } from "node:child_process";
import type { GroupGuard } from "./runner/follow-task.ts";

// Reads lines `+ PID` and `- PID`. At the end of its input, which comes with the end of its parent however that ends, it kills
// the process groups that are still alive. `read` and `kill` are built into the shell, so nothing has to be started by then.
const script = `
trap '' HUP INT TERM QUIT
live=' '
while read -r sign pid; do
  case $sign in
    +) live="$live$pid " ;;
    -) case $live in *" $pid "*) live="\${live%% $pid *} \${live#* $pid }" ;; esac ;;
  esac
done
for pid in $live; do kill -s KILL -- "-$pid"; done 2>/dev/null
`;

/**
 * Ends process groups when this process ends, even by SIGKILL, which no handler of ours sees. It is a shell of a few hundred
 * kilobytes in a session of its own, waiting for the end of a pipe; started with the first group, in a millisecond or two.
 *
 * A group whose leader has ended must be removed at once, before its number can be anybody else's. Without a shell, and after
 * somebody has killed it, the guard does nothing: groups then outlive a killed parent, as they would without it.
 */
export class Reaper implements GroupGuard {
  #shell: ChildProcess | undefined;

  add(leader: number): void {
    this.#shell ??= startShell();
    this.#tell(`+ ${leader}\n`);
  }

  remove(leader: number): void {
    this.#tell(`- ${leader}\n`);
  }

  /** Ends the shell, and with it what is left of the groups. It is started again for a group that is added later. */
  close(): void {
    this.#shell?.stdin?.end();
    this.#shell = undefined;
  }

  #tell(line: string): void {
    // Such short writes go to the kernel in the call itself.
    this.#shell?.stdin?.write(line);
  }
}

function startShell(): ChildProcess {
  const shell = spawn("/bin/sh", ["-c", script], {
    cwd: "/",
    detached: true,
    env: { PATH: "/usr/bin:/bin" },
    stdio: ["pipe", "ignore", "ignore"],
  });
  // A shell that is missing or was killed: see above.
  shell.on("error", () => undefined);
  shell.stdin?.on("error", () => undefined);
  shell.unref();
  if (shell.stdin !== null && "unref" in shell.stdin && typeof shell.stdin.unref === "function") shell.stdin.unref();
  return shell;
}
