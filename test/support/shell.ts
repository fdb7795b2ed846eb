import { spawn } from "node:child_process";
import { cleanEnvironment, root } from "./slipway.ts";
import { within } from "./within.ts";

/** A shell a person types into: one line after the other, each after having read what the one before has printed. */
export interface Shell {
  /** Types a line and waits until the shell is done with it. Rejects with all that was printed when it fails. */
  type(line: string): Promise<string>;
  /** Types a line that does not end by itself, and resolves once what it printed fits. It goes on in the background. */
  typeAndWatch(line: string, until: RegExp): Promise<string>;
  /** Ends what was last left in the background, and waits for it. */
  interrupt(): Promise<void>;
  close(): Promise<void>;
}

export interface ShellOptions {
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
}

export function startShell({ cwd = root, env = {} }: ShellOptions = {}): Shell {
  const child = spawn("bash", ["-s"], { cwd, env: cleanEnvironment(env), stdio: ["pipe", "pipe", "pipe"] });
  let printed = "";
  let said = 0;
  let isOver = false;
  const watchers = new Set<() => void>();
  const look = () => watchers.forEach((watcher) => watcher());
  for (const stream of [child.stdout, child.stderr]) {
    stream.on("data", (chunk: Buffer) => {
      printed += chunk.toString();
      look();
    });
  }
  const exited = new Promise<void>((resolve) => {
    child.once("exit", () => {
      isOver = true;
      look();
      resolve();
    });
  });

  /** Resolves with what was printed since the last question, up to the match. */
  const expectOutput = (wanted: RegExp): Promise<RegExpExecArray> =>
    new Promise((resolve, reject) => {
      const watcher = () => {
        const match = wanted.exec(printed.slice(said));
        if (match === null && !isOver) return;
        watchers.delete(watcher);
        if (match === null) reject(new Error(`the shell has ended, having printed\n${printed.slice(said)}`));
        else resolve(match);
      };
      watchers.add(watcher);
      watcher();
    });

  const inTime = <T>(line: string, output: Promise<T>) =>
    within(100_000, `the shell is done with: ${line}`, output, () => printed.slice(said));

  // Commands have an input of their own: with the shell's, which they may set to never wait, its next read could fail.
  const mark = "end of line";
  return {
    async type(line) {
      child.stdin.write(`{\n${line}\n} </dev/null\necho "${mark}: $?"\n`);
      const match = await inTime(line, expectOutput(new RegExp(`${mark}: (\\d+)\\n`)));
      const out = printed.slice(said, said + match.index);
      said += match.index + match[0].length;
      if (match[1] !== "0") throw new Error(`${line}\nended with ${match[1]}, having printed\n${out}`);
      return out;
    },
    async typeAndWatch(line, until) {
      child.stdin.write(`${line.replace(/\s*&$/, "")} </dev/null &\n`);
      const match = await inTime(line, expectOutput(until));
      return printed.slice(said, said + match.index + match[0].length);
    },
    async interrupt() {
      await this.type("kill %% && wait %% 2>/dev/null; true");
    },
    async close() {
      child.stdin.end();
      await exited;
    },
  };
}
