import { readdirSync, readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type CommandLine, commandLine } from "#test/support/command-line.ts";
import { sleep, systemClock } from "#lib/base/index.ts";
import { readYaml } from "#lib/yaml/index.ts";
import { type Api, connectApi } from "#test/support/api.ts";
import {
  endRunner,
  removeDirectory,
  root,
  startServer,
  temporaryDirectory,
  type TestServer,
} from "#test/support/slipway.ts";

// Pipelines of others, their names and edges only: each is run by the simulation of the engine and, as processes that do nothing but end
// well or badly, on a server. Both come to the same end, which is the one that its origin documents.

interface Case {
  /** Steps whose every attempt fails. */
  readonly fails?: readonly string[];
  readonly arguments?: Readonly<Record<string, string | boolean>>;
  readonly outcome: "Succeeded" | "Failed";
  /** Every other step is carried out. */
  readonly skipped?: readonly string[];
  readonly attempts?: Readonly<Record<string, number>>;
}

interface Graph {
  readonly name: string;
  readonly file: string;
  readonly params?: readonly object[];
  readonly steps: Readonly<Record<string, object>>;
  readonly finally?: Readonly<Record<string, object>>;
  /** `a b`: when both are carried out, a has ended before b starts. */
  readonly order: readonly string[];
  readonly items?: Readonly<Record<string, readonly object[]>>;
  readonly cases: readonly Case[];
}

interface Origin {
  readonly project: string;
  readonly licence: string;
  readonly graphs: readonly Graph[];
}

/** How a step ended, and when, in any unit that is the same for all steps of a run. */
interface Ended {
  readonly phase: string;
  readonly attempts: number;
  readonly start?: number | undefined;
  readonly end?: number | undefined;
}
type Steps = Readonly<Record<string, Ended>>;

const folder = join(root, "test/conformance/workflow/foreign");
const origins = readdirSync(folder)
  .filter((file) => file.endsWith(".yaml"))
  .map((file) => {
    const read = readYaml(readFileSync(join(folder, file), "utf8"), { file });
    if (!read.ok) throw new Error(JSON.stringify(read.error));
    return read.value.documents[0]?.value as unknown as Origin;
  });
const all = origins.flatMap(({ project, graphs }) =>
  graphs.flatMap((graph) =>
    graph.cases.map((one, at) => ({
      title: `${project} ${graph.name}, case ${at + 1}`,
      name: `${graph.name}-${at + 1}`,
      graph,
      one,
    })),
  ),
);

/** The graph as a workflow whose steps end as the case says. */
function documentOf(name: string, { steps, finally: last = {}, params = [] }: Graph, one: Case): object {
  const carriedOut = (given: Readonly<Record<string, object>>) =>
    Object.fromEntries(
      Object.entries(given).map(([key, step]) => {
        const env = "forEach" in step ? { env: [{ name: "ITEM", value: "${{ toJson(item) }}" }] } : {};
        const command = [one.fails?.includes(key) === true ? "false" : "true"];
        return [key, { ...step, container: { image: "busybox", command, ...env } }];
      }),
    );
  return {
    apiVersion: "slipway.dev/v1alpha1",
    kind: "Workflow",
    metadata: { name },
    spec: { params, arguments: one.arguments ?? {}, steps: carriedOut(steps), finally: carriedOut(last) },
  };
}

/** What the origin says of the case holds of a run that came to this end. */
function check({ graph, one }: (typeof all)[number], outcome: string, steps: Steps): void {
  expect(outcome).toBe(one.outcome);
  const keys = [...Object.keys(graph.steps), ...Object.keys(graph.finally ?? {})];
  const expected = keys.map((key) => {
    if (one.skipped?.includes(key) === true) return [key, "Skipped"];
    return [key, one.fails?.includes(key) === true ? "Failed" : "Succeeded"];
  });
  expect(Object.fromEntries(keys.map((key) => [key, steps[key]?.phase]))).toEqual(Object.fromEntries(expected));
  for (const [key, count] of Object.entries(one.attempts ?? {})) expect(steps[key]?.attempts, key).toBe(count);
  const edges = Object.entries(graph.steps).flatMap(([key, step]) =>
    ((step as { readonly dependencies?: readonly string[] }).dependencies ?? []).map((before) => `${before} ${key}`),
  );
  for (const pair of new Set([...edges, ...graph.order])) {
    const [before = "", after = ""] = pair.split(" ");
    expect(keys, pair).toEqual(expect.arrayContaining([before, after]));
    const [{ end } = { end: undefined }, { start } = { start: undefined }] = [steps[before], steps[after]];
    if (steps[before]?.phase === "Skipped" || steps[after]?.phase === "Skipped") continue;
    expect(start, pair).toBeGreaterThanOrEqual(end ?? Number.POSITIVE_INFINITY);
  }
}

test("every graph says where it is from", () => {
  expect(all.length).toBeGreaterThan(30);
  expect(origins.map(({ project }) => project).sort()).toEqual([
    "apache/airflow",
    "argoproj/argo-workflows",
    "github/docs",
    "tektoncd/pipeline",
  ]);
  for (const { licence, graphs } of origins) {
    expect(licence).toMatch(/^(?:Apache-2\.0|CC-BY-4\.0)$/);
    for (const { file } of graphs) expect(file).toMatch(/^\S+\.(?:yaml|md|py)$/);
  }
});

/** What `slipway simulate -o json` prints. */
interface Simulated {
  readonly phase: string;
  readonly steps: readonly {
    readonly step: string;
    readonly phase: string;
    readonly attempts: number;
    readonly startSeconds?: number;
    readonly endSeconds?: number;
  }[];
}

describe("on the simulation of the engine", () => {
  let line: CommandLine;
  beforeAll(async () => {
    line = await commandLine();
  });
  afterAll(() => line.close());

  test.each(all.map((tried) => [tried.title, tried] as const))("%s", async (_title, tried) => {
    const { name, graph, one } = tried;
    await writeFile(join(line.directory, `${name}.json`), JSON.stringify(documentOf(name, graph, one)));
    const fails = (one.fails ?? []).flatMap((step) => ["--fail", step]);
    const { out, err } = await line.run("simulate", `${name}.json`, "-o", "json", ...fails);
    // Whatever is no answer is shown.
    const run = (out === "" ? { phase: err, steps: [] } : JSON.parse(out)) as Simulated;
    const steps = run.steps.map(({ step, phase, attempts, startSeconds, endSeconds }) => [
      step,
      { phase, attempts, start: startSeconds, end: endSeconds },
    ]);
    check(tried, run.phase, Object.fromEntries(steps) as Steps);
  });
});

describe("on a server", () => {
  const workflows = "/apis/slipway.dev/v1alpha1/namespaces/default/workflows";
  let directory: string;
  let server: TestServer;
  let api: Api;
  beforeAll(async () => {
    directory = await temporaryDirectory();
    server = await startServer(directory);
    api = await connectApi(server.url, server.kubeconfig);
    // All at once: they share nothing, and none is looked at before it has ended.
    for (const { name, graph, one } of all) {
      const { status, text } = await api.ask("POST", workflows, documentOf(name, graph, one));
      if (status !== 201) throw new Error(text);
    }
  });
  afterAll(async () => {
    api.close();
    await server.stop();
    await endRunner(directory);
    await removeDirectory(directory);
  });

  interface Status {
    readonly phase?: string;
    readonly statuses?: Readonly<
      Record<
        string,
        { readonly phase: string; readonly attempt: number; readonly startTime?: string; readonly finishTime?: string }
      >
    >;
  }

  /** The status of a run that has ended. */
  async function ended(name: string): Promise<Status> {
    const until = systemClock.monotonic() + 100_000;
    for (;;) {
      const { text } = await api.ask("GET", `${workflows}/${name}`);
      const { status = {} } = JSON.parse(text) as { readonly status?: Status };
      if (status.phase === "Succeeded" || status.phase === "Failed") return status;
      if (systemClock.monotonic() > until) throw new Error(`${name} does not end: ${text}`);
      await sleep(systemClock, 50);
    }
  }

  /** What the items of a step were, by what their containers were told. */
  async function itemsOf(name: string, step: string): Promise<readonly object[]> {
    const labels = `slipway.dev/workflow=${name},slipway.dev/step=${step}`;
    const { text } = await api.ask(
      "GET",
      `/apis/batch/v1/namespaces/default/jobs?labelSelector=${encodeURIComponent(labels)}`,
    );
    return [...text.matchAll(/\{"name":"ITEM","value":("(?:[^"\\]|\\.)*")\}/g)].map(
      ([, value = ""]) => JSON.parse(JSON.parse(value) as string) as object,
    );
  }

  test.each(all.map((tried) => [tried.title, tried] as const))("%s", async (_title, tried) => {
    const { name, graph } = tried;
    const { phase = "", statuses = {} } = await ended(name);
    const time = (text: string | undefined) => (text === undefined ? undefined : Date.parse(text));
    const steps = Object.entries(statuses).map(([key, { phase: of, attempt, startTime, finishTime }]) => [
      key,
      { phase: of, attempts: attempt, start: time(startTime), end: time(finishTime) },
    ]);
    check(tried, phase, Object.fromEntries(steps) as Steps);
    for (const [step, items] of Object.entries(graph.items ?? {})) {
      const found = await itemsOf(name, step);
      expect(found).toHaveLength(items.length);
      expect(found).toEqual(expect.arrayContaining([...items]));
    }
  });
});
