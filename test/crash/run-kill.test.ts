import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import {
  endRunner,
  removeDirectory,
  slipway,
  startServer,
  temporaryDirectory,
  type TestServer,
} from "#test/support/slipway.ts";
import { systemClock } from "#lib/base/index.ts";

const rounds = 20;
const layers = 6;
const width = 5;

let directory = "";
let server: TestServer | undefined;

beforeEach(async () => {
  directory = await temporaryDirectory();
});

afterEach(async () => {
  await server?.stop();
  await endRunner(directory);
  await removeDirectory(directory);
});

/** Thirty steps in six layers of five; each depends on two of the layer before and appends its name to a file. */
function document(name: string, file: string): string {
  const steps: Record<string, object> = {};
  for (let layer = 0; layer < layers; layer++) {
    for (let index = 0; index < width; index++) {
      const before = layer === 0 ? [] : [`s${layer - 1}-${index}`, `s${layer - 1}-${(index + 1) % width}`];
      const container = {
        image: "busybox",
        command: ["sh", "-c", 'echo "$SLIPWAY_STEP" >>"$FILE"; sleep 0.02'],
        env: [{ name: "FILE", value: file }],
      };
      steps[`s${layer}-${index}`] = { container, ...(before.length === 0 ? {} : { dependencies: before }) };
    }
  }
  return JSON.stringify({
    apiVersion: "slipway.dev/v1alpha1",
    kind: "Workflow",
    metadata: { name },
    spec: { activeDeadlineSeconds: 300, steps },
  });
}

const linesOf = async (file: string): Promise<string[]> => {
  const text = await readFile(file, "utf8").catch(() => "");
  return text.split("\n").filter((line) => line !== "");
};

/** A different moment each round, the same ones in every run of this test. */
const momentOf = (round: number): number => 3 + ((round * 7919) % 26);

/** Long enough for all steps of a run on the busiest machine. */
const patienceMs = 120_000;

async function until<T>(look: () => Promise<T>, holds: (seen: T) => boolean): Promise<T> {
  const end = systemClock.monotonic() + patienceMs;
  for (;;) {
    const seen = await look();
    if (holds(seen)) return seen;
    if (systemClock.monotonic() > end)
      throw new Error(`not within ${patienceMs / 1000} s: ${JSON.stringify(seen)}\n${server?.log() ?? ""}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

async function workflow(
  name: string,
): Promise<{ phase: string; statuses: Record<string, { phase: string; attempt: number }> }> {
  const got = await slipway(["get", "workflow", name, "-o", "json", "--kubeconfig", join(directory, "kubeconfig")]);
  if (got.code !== 0) throw new Error(got.err);
  return (
    JSON.parse(got.out) as { status: { phase: string; statuses: Record<string, { phase: string; attempt: number }> } }
  ).status;
}

test(`a run of ${layers * width} steps survives a kill -9 of the server at any moment, ${rounds} times`, async () => {
  const reruns: string[] = [];
  for (let round = 0; round < rounds; round++) {
    const name = `round-${round}`;
    const file = join(directory, `${name}.txt`);
    await writeFile(join(directory, `${name}.json`), document(name, file));
    server = await startServer(directory);
    const started = await slipway([
      "run",
      join(directory, `${name}.json`),
      "--detach",
      "--kubeconfig",
      server.kubeconfig,
    ]);
    expect(started.code, started.err).toBe(0);
    await until(
      () => linesOf(file),
      (lines) => lines.length >= momentOf(round),
    );
    await server.kill();
    server = await startServer(directory);
    const end = await until(
      () => workflow(name),
      ({ phase }) => ["Succeeded", "Failed", "Canceled"].includes(phase),
    );
    expect(end.phase, JSON.stringify(end)).toBe("Succeeded");
    const lines = await linesOf(file);
    expect(new Set(lines).size, "every step ran").toBe(layers * width);
    if (lines.length !== layers * width)
      reruns.push(`${name}: ${lines.filter((line, index) => lines.indexOf(line) !== index).join(", ")}`);
    expect(Object.values(end.statuses).every(({ attempt }) => attempt === 1)).toBe(true);
    await server.stop();
    server = undefined;
  }
  expect(reruns, "no step ran twice").toEqual([]);
});
