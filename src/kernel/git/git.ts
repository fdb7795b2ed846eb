import { spawn } from "node:child_process";
import { type Clock, err, messageOf, type Millis, ok, oneLine, type Result } from "#lib/base/index.ts";
import { childEnd } from "#lib/base/index.node.ts";
import { withoutValues } from "#kernel/streams/index.ts";
import { gitEnvironment, type GitRemote, gitSettings } from "./access.ts";
import { type GitFailure, gitFailureOf } from "./failure.ts";

export interface GitWorld {
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

export interface GitRefusal {
  /** `Rejected`: somebody else has pushed. */
  readonly reason: GitFailure | "Rejected";
  /** Git's last words on one line, without credentials. */
  readonly message: string;
}

export type Git = (...words: readonly string[]) => Promise<Result<string, GitRefusal>>;

const mostBytes = 16 * 1024 * 1024;
const longestMessage = 500;
const longestRun: Millis = 120_000;

/**
 * The machine's Git in a directory, as a program that nobody watches: without hooks, prompts, helpers and settings of
 * users, and with credentials in its environment only. The answer is its output.
 */
export function gitIn(directory: string, remote: GitRemote, world: GitWorld): Git {
  const kept = Object.entries(world.environment).filter(([name]) => !/^(?:GIT_(?!SSH_COMMAND$)|SSH_A)/.test(name));
  const environment = {
    ...gitEnvironment({ ...remote, ssh: remote.ssh ?? "none" }, Object.fromEntries(kept)),
    // Keys and passwords of the server's user are not for whoever writes an address.
    HOME: nowhere,
    GNUPGHOME: nowhere,
    XDG_CONFIG_HOME: nowhere,
    GIT_CONFIG_GLOBAL: "/dev/null",
    GIT_CONFIG_NOSYSTEM: "1",
    GIT_LFS_SKIP_SMUDGE: "1",
  };
  const hidden = [remote.token, remote.source.password].filter((value) => value !== undefined);
  const settings = [...gitSettings(remote), ...safely, "-C", directory];
  return async (...words) => {
    const { code, output, errors } = await run([...settings, ...words], environment, world);
    if (code === 0) return ok(output);
    const message = oneLine(withoutValues(errors.trim(), hidden)).slice(-longestMessage);
    return err({ reason: reasonOf(errors), message: message === "" ? `git ${words[0]} failed` : message });
  };
}

/** Must not exist. */
const nowhere = "/nonexistent";

const safely = ["core.hooksPath=/dev/null", "core.fsmonitor=false", "protocol.ext.allow=never", "gc.auto=0"].flatMap(
  (setting) => ["-c", setting],
);

const reasonOf = (errors: string): GitRefusal["reason"] =>
  /\[(?:remote )?rejected\]|non-fast-forward|fetch first|cannot lock ref/i.test(errors)
    ? "Rejected"
    : gitFailureOf(errors.split("\n"));

async function run(words: readonly string[], env: GitWorld["environment"], { clock, signal }: GitWorld) {
  const limit = AbortSignal.any([signal, AbortSignal.timeout(longestRun)]);
  const child = spawn("git", words, { env, signal: limit, stdio: ["ignore", "pipe", "pipe"] });
  const [output, errors] = [collect(child.stdout), collect(child.stderr)];
  try {
    return { code: await childEnd(child, clock), output: output(), errors: errors() };
  } catch (thrown) {
    return { code: null, output: "", errors: `git: ${messageOf(thrown)}` };
  }
}

function collect(stream: NodeJS.ReadableStream): () => string {
  const chunks: Buffer[] = [];
  let size = 0;
  stream.on("data", (chunk: Buffer) => {
    size += chunk.length;
    if (size <= mostBytes) chunks.push(chunk);
  });
  return () => Buffer.concat(chunks).toString();
}
