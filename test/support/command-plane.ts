import { writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, vi } from "vitest";
import { type JsonObject, systemClock } from "#lib/base/index.ts";
import type { EphemeralControlPlane } from "#app/server/index.ts";
import type { ApiClient } from "#kernel/kit/index.ts";
import { ConfigMap } from "#kernel/model/index.ts";
import { type CommandLine, commandLine, type Finished } from "./command-line.ts";

/** Command lines against a real control plane in this process: its server, its controllers, and steps that need no process. */
export interface CommandPlane {
  readonly client: ApiClient;
  readonly cli: CommandLine;
  /** Fails the test when the command does. */
  readonly must: (...words: readonly string[]) => Promise<Finished>;
  /** Writes a workflow document and returns its name in the directory. */
  readonly file: (name: string, steps: JsonObject, spec?: JsonObject) => Promise<string>;
  /** Starts a run that stays, and waits until it has the phase. */
  readonly begin: (name: string, steps: JsonObject, phase?: string, spec?: JsonObject) => Promise<void>;
  readonly until: (name: string, phase: string) => Promise<void>;
}

/** A step that makes a ConfigMap, which is done as soon as it is there. */
export const make = (more: JsonObject = {}): JsonObject => ({
  template: { apiVersion: "v1", kind: "ConfigMap" },
  ...more,
});
export const wait = (more: JsonObject = {}): JsonObject => ({ wait: { seconds: 600 }, ...more });
export const fails = (more: JsonObject = {}): JsonObject => ({
  template: { apiVersion: "v1", kind: "ConfigMap", data: { n: "${{ fromJson('no json') }}" } },
  ...more,
});

/** One for all tests of a file: to start it takes longer than most of them. */
export function commandPlane(): CommandPlane {
  let plane: EphemeralControlPlane;
  let cli: CommandLine;

  beforeAll(async () => {
    const { startEphemeral } = await import("#app/server/index.ts");
    plane = await startEphemeral({
      clock: systemClock,
      version: "test",
      level: "error",
      workingDirectory: tmpdir(),
      environment: {},
      signal: new AbortController().signal,
    });
    const { client } = plane;
    // `run` looks for a running control plane itself; this is what tells it that there is one.
    cli = await commandLine({ client, variables: { SLIPWAY_KUBECONFIG: "the-test" } });
    for (const name of ["one", "two"])
      await client.create(ConfigMap, {
        apiVersion: "v1",
        kind: "ConfigMap",
        metadata: { name, namespace: "default", labels: { which: name } },
      });
  }, 60_000);

  afterAll(async () => {
    await cli.close();
    await plane.close();
  }, 60_000);

  async function must(...words: readonly string[]): Promise<Finished> {
    const done = await cli.run(...words);
    if (done.code !== 0) throw new Error(`slipway ${words.join(" ")} ended with ${done.code}\n${done.err}${done.out}`);
    return done;
  }

  async function file(name: string, steps: JsonObject, spec: JsonObject = {}): Promise<string> {
    const object = {
      apiVersion: "slipway.dev/v1alpha1",
      kind: "Workflow",
      metadata: { name },
      spec: { ...spec, steps },
    };
    await writeFile(join(cli.directory, `${name}.json`), JSON.stringify(object));
    return `${name}.json`;
  }

  async function until(name: string, phase: string): Promise<void> {
    const look = async () => (await must("get", "wf", name, "-o", "jsonpath={.status.phase}")).out.trim();
    // Also in hooks, where `expect.poll` is not to be had.
    await vi.waitFor(async () => expect(await look()).toBe(phase), { timeout: 40_000, interval: 5 });
  }

  return {
    get client() {
      return plane.client;
    },
    get cli() {
      return cli;
    },
    must,
    file,
    until,
    begin: async (name, steps, phase = "Running", spec = {}) => {
      await must("run", "--detach", await file(name, steps, spec));
      await until(name, phase);
    },
  };
}
