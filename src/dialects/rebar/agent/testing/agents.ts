import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { type Clock, silentLog, systemClock } from "#lib/base/index.ts";
import { type HostAgentSettings, openHostAgent } from "../open-agent.ts";
import type { FakeServer } from "./fake-server.ts";

/** A directory that is removed after the test. */
export async function temporaryDirectory(): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), "slipway-rebar-"));
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  return directory;
}

export interface StartedAgent {
  readonly lines: readonly string[];
  readonly output: () => string;
  readonly stop: () => void;
  /** The error that it ended with. */
  readonly ended: Promise<string | undefined>;
}

/** Short are the second that ends an agent with nothing to do and sends its logs, and the pause after a failure. */
const clock: Clock = {
  ...systemClock,
  after: (delay, run) => systemClock.after(delay === 1_000 || delay === 5_000 ? 50 : delay, run),
};

/** An agent on this host that exits when there is nothing to do. Shims are not written. */
export function startAgent(
  server: Pick<FakeServer, "machine">,
  endpoint: string,
  directory: string,
  settings: Partial<HostAgentSettings> = {},
): StartedAgent {
  const stopped = new AbortController();
  const lines: string[] = [];
  let output = "";
  const usual: HostAgentSettings = {
    machine: server.machine,
    isOneShot: true,
    connection: { endpoints: [endpoint], credentials: { token: "secret" }, trust: { kind: "any" } },
    stateDirectory: join(directory, "state"),
    runnerDirectory: join(directory, "runner"),
  };
  const ended = openHostAgent(
    { ...usual, ...settings },
    {
      environment: { PATH: "/usr/bin:/bin", INHERITED: "yes" },
      clock,
      log: silentLog,
      tell: (line) => void lines.push(line),
      echo: (bytes) => (output += Buffer.from(bytes).toString("utf8")),
    },
    stopped.signal,
  );
  onTestFinished(async () => {
    stopped.abort();
    await ended.catch(() => undefined);
  });
  return { lines, output: () => output, stop: () => stopped.abort(), ended };
}

export async function withServer(server: FakeServer): Promise<string> {
  const endpoint = await server.listen();
  onTestFinished(() => server.close());
  return endpoint;
}

/** Resolves when the condition holds; the test's own limit ends it otherwise. */
export async function until(isTrue: () => boolean): Promise<void> {
  while (!isTrue()) await new Promise<void>((resolve) => void systemClock.after(10, resolve));
}
