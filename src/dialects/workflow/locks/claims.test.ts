import { expect, test } from "vitest";
import { deepFreeze } from "#lib/base/index.ts";
import type { Stored } from "#kernel/model/index.ts";
import type { Workflow, WorkflowSpec } from "../kinds.ts";
import { job } from "../testing/harness.ts";
import { claimsOf, limitsNamedBy } from "./claims.ts";

const metadata = {
  name: "wf",
  namespace: "default",
  creationTimestamp: "2026-01-01T00:00:00Z",
  generation: 1,
};
const stored = (uid: string, spec: WorkflowSpec, statuses: object, resourceVersion = "1"): Stored<Workflow> =>
  ({
    apiVersion: "slipway.dev/v1alpha1",
    kind: "Workflow",
    metadata: { ...metadata, uid, resourceVersion },
    spec,
    status: { phase: "Running", startTime: "2026-01-01T00:00:00Z", runNumber: 1, statuses },
  }) as unknown as Stored<Workflow>;

test("a version is compiled once, however many of its steps have locks with expressions", () => {
  const keys = Array.from({ length: 20 }, (_, at) => `s${at}`);
  const steps = Object.fromEntries(keys.map((key) => [key, job({ locks: [{ name: "db-${{ params.env }}" }] })]));
  let reads = 0;
  const spec: WorkflowSpec = {
    params: [{ name: "env", type: "string", default: "x" }],
    // Looked at by nothing but the checks of a specification.
    get failureStrategy() {
      reads += 1;
      return "Continue" as const;
    },
    steps,
  };
  const waiting = Object.fromEntries(keys.map((key) => [key, { phase: "Waiting", reason: "Lock" }]));
  const workflow = stored("u1", spec, waiting);
  expect(limitsNamedBy(workflow)).toEqual(["db-x"]);
  const once = reads;
  expect(once).toBeGreaterThan(0);
  expect(claimsOf(workflow).map(({ limits }) => limits)).toEqual(keys.map(() => ["db-x"]));
  expect(limitsNamedBy(workflow)).toEqual(["db-x"]);
  expect(reads).toBe(once);
});

test("the names for all items of a fan-out are rendered once for all versions of a run", () => {
  let reads = 0;
  const counting: ProxyHandler<readonly string[]> = {
    get(list, name, receiver) {
      if (typeof name === "string" && /^\d+$/.test(name)) reads += 1;
      return Reflect.get(list, name, receiver);
    },
  };
  const items = Array.from({ length: 100 }, (_, at) => `n${at}`);
  const fan = job({ locks: [{ name: "node-${{ item }}" }] });
  const spec = deepFreeze({ steps: { a: { ...fan, forEach: { items: new Proxy(items, counting) } } } }) as WorkflowSpec;
  const running = { a: { phase: "Running", items: { states: "100R", total: 100 } } };
  const limits = limitsNamedBy(stored("u2", spec, running));
  expect(limits).toEqual(items.map((item) => `node-${item}`));
  const once = reads;
  for (const version of ["2", "3", "4"]) expect(limitsNamedBy(stored("u2", spec, running, version))).toEqual(limits);
  expect(reads).toBe(once);
});
