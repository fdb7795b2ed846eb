import { type ChildProcess, spawn } from "node:child_process";
import type { GroupGuard } from "./runner/follow-task.ts";

// Reads lines `+ PID` and `- PID`. At the end of its input, when its parent has ended, it kills the groups that are
// left. `read` and `kill` are built into the shell, so it starts no programs.
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
 * Kills process groups when this process ends, even by SIGKILL: a small shell in a session of its own waits for the end
 * of a pipe. A group whose leader has ended must be removed at once, before its number is reused. If the shell is
 * missing or was killed, groups outlive a killed parent.
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

  /** Ends the shell, which kills the remaining groups. A group added later starts it again. */
  close(): void {
    this.#shell?.stdin?.end();
    this.#shell = undefined;
  }

  #tell(line: string): void {
    // Such short writes complete within the call.
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
  shell.on("error", () => undefined);
  shell.stdin?.on("error", () => undefined);
  shell.unref();
  if (shell.stdin !== null && "unref" in shell.stdin && typeof shell.stdin.unref === "function") shell.stdin.unref();
  return shell;
}
