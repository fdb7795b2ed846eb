import { describe, expect, test } from "vitest";
import type { JsonObject } from "#lib/base/index.ts";
import { checkJobSpec } from "#kernel/specs/index.ts";
import { served, writeNew, writeOver } from "../testing/write-steps.ts";
import { jobKind } from "./job.ts";

const jobs = served(jobKind);
const uid = "11111111-2222-4333-8444-555555555555";
const template = (spec: JsonObject = {}, metadata: JsonObject = {}): JsonObject => ({
  metadata,
  spec: { restartPolicy: "Never", containers: [{ name: "c", image: "busybox:1" }], ...spec },
});
const job = (spec: JsonObject = {}, metadata: JsonObject = {}): JsonObject => ({
  apiVersion: "batch/v1",
  kind: "Job",
  metadata: { name: "j", ...metadata },
  spec: { template: template(), ...spec },
});
const fieldsOf = (errors: readonly string[]) => errors.map((error) => error.split(": ")[0]);

test("a small job gets its defaults, its selector and the labels of its pods", () => {
  const { object, errors, warnings } = writeNew(jobs, job());
  expect({ errors, warnings }).toEqual({ errors: [], warnings: [] });
  expect(object["status"]).toEqual({});
  expect(object["spec"]).toMatchObject({
    completions: 1,
    parallelism: 1,
    backoffLimit: 6,
    completionMode: "NonIndexed",
    suspend: false,
    manualSelector: false,
    podReplacementPolicy: "TerminatingOrFailed",
    selector: { matchLabels: { "batch.kubernetes.io/controller-uid": uid } },
    template: {
      metadata: {
        labels: {
          "batch.kubernetes.io/controller-uid": uid,
          "batch.kubernetes.io/job-name": "j",
          "controller-uid": uid,
          "job-name": "j",
        },
      },
      spec: { schedulerName: "default-scheduler", terminationGracePeriodSeconds: 30 },
    },
  });
  // Pods get these when they are made, not their template.
  expect(object["spec"]).not.toHaveProperty("template.spec.serviceAccountName");
});

test.each<[string, JsonObject, JsonObject]>([
  ["workers of a queue keep their number", { parallelism: 3 }, { parallelism: 3 }],
  ["completions alone run one by one", { completions: 3 }, { parallelism: 1, completions: 3 }],
  [
    "limits per index leave the whole unlimited",
    { completions: 1, completionMode: "Indexed", backoffLimitPerIndex: 1 },
    { backoffLimit: 2_147_483_647 },
  ],
  [
    "a failure policy replaces only what failed",
    { podFailurePolicy: { rules: [{ action: "Ignore", onPodConditions: [{ type: "DisruptionTarget" }] }] } },
    {
      podReplacementPolicy: "Failed",
      podFailurePolicy: { rules: [{ onPodConditions: [{ type: "DisruptionTarget", status: "True" }] }] },
    },
  ],
])("%s", (_, spec, expected) => {
  expect(jobs.withDefaults(job(spec))["spec"]).toMatchObject(expected);
});

test("a work queue does not get completions by default", () => {
  expect(jobs.withDefaults(job({ parallelism: 3 }))["spec"]).not.toHaveProperty("completions");
});

test("a job without labels takes those of its template", () => {
  const labelled = { template: template({}, { labels: { app: "x" } }) };
  expect(jobs.withDefaults(job(labelled))["metadata"]).toMatchObject({ labels: { app: "x" } });
  expect(jobs.withDefaults(job(labelled, { labels: { own: "y" } }))["metadata"]).toMatchObject({
    labels: { own: "y" },
  });
});

describe("refuses, naming the field,", () => {
  const cases: [string, JsonObject, string[]][] = [
    [
      "pods that always restart",
      { template: template({ restartPolicy: "Always" }) },
      ["NotSupported spec.template.spec.restartPolicy"],
    ],
    ["pods of which nothing is said", { template: {} }, ["Required spec.template.spec"]],
    [
      "a template with a wrong container",
      { template: template({ containers: [{ name: "c" }] }) },
      ["Required spec.template.spec.containers[0].image"],
    ],
    [
      "a template with a wrong label",
      { template: template({}, { labels: { "a b": "c" } }) },
      ["Invalid spec.template.metadata.labels"],
    ],
    [
      "numbers below zero",
      { parallelism: -1, backoffLimit: -1 },
      ["Invalid spec.parallelism", "Invalid spec.backoffLimit"],
    ],
    ["an unknown completion mode", { completionMode: "Odd" }, ["NotSupported spec.completionMode"]],
    ["an indexed job of unknown length", { completionMode: "Indexed", parallelism: 1 }, ["Required spec.completions"]],
    ["limits per index without indexes", { backoffLimitPerIndex: 1 }, ["Invalid spec.backoffLimitPerIndex"]],
    ["a selector of the writer's own", { selector: { matchLabels: { a: "b" } } }, ["Invalid spec.selector"]],
    ["a manual selector that is missing", { manualSelector: true }, ["Required spec.selector"]],
    [
      "a manual selector that selects other pods",
      { manualSelector: true, selector: { matchLabels: { a: "b" } } },
      ["Invalid spec.template.metadata.labels"],
    ],
    [
      "a failure policy for pods that restart",
      { template: template({ restartPolicy: "OnFailure" }), podFailurePolicy: { rules: [] } },
      ["Invalid spec.template.spec.restartPolicy"],
    ],
    [
      "a failure policy that counts success, and one about nothing",
      {
        podFailurePolicy: {
          rules: [
            { action: "FailJob", onExitCodes: { operator: "In", values: [0], containerName: "d" } },
            { action: "Ignore" },
          ],
        },
      },
      [
        "Invalid spec.podFailurePolicy.rules[0].onExitCodes.values[0]",
        "Invalid spec.podFailurePolicy.rules[0].onExitCodes.containerName",
        "Invalid spec.podFailurePolicy.rules[1]",
      ],
    ],
    [
      "a success policy without indexes",
      { successPolicy: { rules: [{ succeededCount: 1 }] } },
      ["Invalid spec.successPolicy"],
    ],
  ];
  test.each(cases)("%s", (_, spec, expected) => {
    expect(fieldsOf(writeNew(jobs, job(spec)).errors)).toEqual(expected);
  });
});

test("a manual selector that fits is taken as it is", () => {
  const { errors, object } = writeNew(
    jobs,
    job({
      manualSelector: true,
      selector: { matchLabels: { a: "b" } },
      template: template({}, { labels: { a: "b" } }),
    }),
  );
  expect(errors).toEqual([]);
  expect(object["spec"]).toMatchObject({
    selector: { matchLabels: { a: "b" } },
    template: { metadata: { labels: { a: "b" } } },
  });
});

describe("an update", () => {
  const { object: old } = writeNew(jobs, job());
  const spec = old["spec"] as JsonObject;
  const update = (changes: JsonObject, from = old) =>
    fieldsOf(writeOver(jobs, from, { ...from, spec: { ...(from["spec"] as JsonObject), ...changes } }).errors);

  test("may change how many run, how long, and whether at all", () => {
    expect(
      update({ parallelism: 5, activeDeadlineSeconds: 9, backoffLimit: 1, suspend: true, ttlSecondsAfterFinished: 0 }),
    ).toEqual([]);
  });

  test("may change neither completions nor pods", () => {
    const changed = {
      ...(spec["template"] as JsonObject),
      spec: { ...(template()["spec"] as JsonObject), hostname: "h" },
    };
    expect(update({ completions: 2 })).toEqual(["Invalid spec.completions"]);
    expect(update({ template: changed })).toEqual(["Invalid spec.template"]);
    expect(update({ selector: { matchLabels: {} } })).toEqual(["Invalid spec.selector"]);
  });

  test("may change the pods of a suspended job that has not begun", () => {
    const suspended = writeNew(jobs, job({ suspend: true })).object;
    const before = (suspended["spec"] as JsonObject)["template"] as JsonObject;
    const changed = { ...before, spec: { ...(before["spec"] as JsonObject), hostname: "h" } };
    expect(update({ template: changed }, suspended)).toEqual([]);
    expect(update({ template: changed }, { ...suspended, status: { startTime: "2026-01-31T12:00:00Z" } })).toEqual([
      "Invalid spec.template",
    ]);
  });

  test("may scale an indexed job as a whole", () => {
    const indexed = writeNew(jobs, job({ completionMode: "Indexed", completions: 2, parallelism: 2 })).object;
    expect(update({ completions: 3, parallelism: 3 }, indexed)).toEqual([]);
    expect(update({ completions: 3 }, indexed)).toEqual(["Invalid spec.completions"]);
  });

  test("raises the generation when the spec changes, and only then", () => {
    expect(jobs.hasGeneration).toBe(true);
    expect(jobs.changesGeneration({ ...old, status: { active: 1 } }, old)).toBe(false);
    expect(jobs.changesGeneration({ ...old, spec: { ...spec, suspend: true } }, old)).toBe(true);
  });
});

describe("a Job is refused for what checkJobSpec says of its spec, and for nothing else", () => {
  test.each<[string, JsonObject]>([
    ["a right one", { template: template() }],
    ["numbers below zero", { template: template(), parallelism: -1, completions: -2 }],
    ["an unknown mode", { template: template(), completionMode: "Odd" }],
    ["pods that cannot end", { template: template({ restartPolicy: "Always" }) }],
    ["what this server cannot do", { template: template({ hostPID: true, volumes: [{ name: "v", nfs: {} }] }) }],
    ["pods without a spec", { template: {} }],
    ["limits per index without indexes", { template: template(), backoffLimitPerIndex: 1, maxFailedIndexes: 2 }],
  ])("%s", (_, spec) => {
    const { causes, unsupported } = checkJobSpec(spec, ["spec"]);
    const expected = [...causes, ...unsupported].map(({ field, message }) => `${field}: ${message}`);
    const { errors } = writeNew(jobs, { ...job(), spec });
    expect(errors.map((error) => error.slice(error.indexOf(" ") + 1))).toEqual(expected);
  });

  test("but for types, which the server reports alone", () => {
    const spec = { template: template(), backoffLimit: "two", parallelism: -1 };
    expect(fieldsOf(writeNew(jobs, { ...job(), spec }).errors)).toEqual(["TypeInvalid spec.backoffLimit"]);
    expect(checkJobSpec(spec, ["spec"]).causes).toHaveLength(2);
  });
});

test.each<[string, number, string[]]>([
  ["j".repeat(61), 10, []],
  ["j".repeat(61), 11, ["Invalid metadata.name"]],
  ["a.b", 1, ["Invalid metadata.name"]],
  ["a.b", 0, []],
])("pods of an indexed Job %s of %i have names that can be hostnames: %j", (name, completions, expected) => {
  const indexed = job({ completionMode: "Indexed", completions }, { name });
  expect(fieldsOf(writeNew(jobs, indexed).errors)).toEqual(expected);
});
