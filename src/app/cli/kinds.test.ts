import { expect, test } from "vitest";
import { memoryClient } from "#kernel/kit/testing/index.ts";
import type { ResourceType } from "#kernel/model/index.ts";
import { findKind, namesOf, splitNames } from "./kinds.ts";
import { childrenOf, isRunOf } from "#app/runs/index.ts";
import { findRun } from "./runs.ts";

const Workflow: ResourceType = {
  group: "slipway.dev",
  version: "v1alpha1",
  kind: "Workflow",
  plural: "workflows",
  singular: "workflow",
  shortNames: ["wf"],
  namespaced: true,
};
const Theirs: ResourceType = { ...Workflow, group: "tinkerbell.org", shortNames: ["twf"] };
const client = memoryClient({ types: [Workflow, Theirs] });

test("a kind goes by plural, singular and short names, with or without its group", () => {
  expect(namesOf(Theirs)).toEqual([
    "workflows",
    "workflow",
    "twf",
    "workflows.tinkerbell.org",
    "workflow.tinkerbell.org",
    "twf.tinkerbell.org",
  ]);
  expect(namesOf({ group: "", version: "v1", kind: "Pod", plural: "pods", namespaced: true })).toEqual(["pods", "pod"]);
});

test.each([
  ["wf", "slipway.dev"],
  ["Workflows", "slipway.dev"],
  ["workflow.tinkerbell.org", "tinkerbell.org"],
  ["twf", "tinkerbell.org"],
  ["jobs", "batch"],
  ["events.events.k8s.io", "events.k8s.io"],
])("%s is a kind of %s", async (word, group) => {
  expect((await findKind(client, word)).group).toBe(group);
});

test.each([
  ["x", 'the server serves no kind "x"'],
  ["", 'the server serves no kind ""'],
])("%j is none, and how to list those that are is told", async (word, message) => {
  await expect(findKind(client, word)).rejects.toMatchObject({ message, hint: "all kinds: kubectl api-resources" });
});

test("a word that is nearly a kind is answered with that kind alone", async () => {
  await expect(findKind(client, "workflws")).rejects.toMatchObject({
    message: 'the server serves no kind "workflws"; did you mean "workflows"?',
    hint: undefined,
  });
});

test.each<[readonly string[], object]>([
  [["wf"], { kind: "wf", names: [] }],
  [["wf", "a", "b"], { kind: "wf", names: ["a", "b"] }],
  [["wf/a"], { kind: "wf", names: ["a"] }],
  [["wf/a", "wf/b"], { kind: "wf", names: ["a", "b"] }],
  [[], { kind: "", names: [] }],
])("%j names objects as kubectl takes them", (words, expected) => {
  expect(splitNames(words)).toEqual(expected);
});

test.each([
  [["wf/a", "b"], 'expected wf/NAME, found "b"'],
  [["wf/a", "job/b"], 'expected wf/NAME, found "job/b"'],
  [["wf/"], 'expected wf/NAME, found "wf/"'],
])("%j mixes what cannot be mixed", (words, message) => {
  expect(() => splitNames(words)).toThrow(message);
});

test.each<[readonly string[], string, readonly string[]]>([
  [["hello"], "hello", []],
  [["workflow/hello"], "hello", []],
  [["wf/hello"], "hello", []],
  [["workflow", "hello"], "hello", []],
  [["hello", "step"], "hello", ["step"]],
  [["workflow", "hello", "step", "more"], "hello", ["step", "more"]],
  [["wf/hello", "step"], "hello", ["step"]],
  // A run that is called like a kind.
  [["workflow/job", "step"], "job", ["step"]],
  [["job", "step"], "job", ["step"]],
  [["wf"], "wf", []],
])("%j is the run %s, and %j are left over", async (words, name, rest) => {
  const run = await findRun({ client, namespace: "default" }, words);
  expect({ name: run.name, rest: run.rest, group: run.type.group }).toEqual({ name, rest, group: "slipway.dev" });
  expect(run.dialect.name).toBe("workflow");
});

test("a run of another language is found by its kind", async () => {
  const run = await findRun({ client, namespace: "default" }, ["twf/x"]);
  expect(run.type.group).toBe("tinkerbell.org");
  expect(run.dialect.name).toBe("tinkerbell");
});

const theirs = (name: string) => ({
  apiVersion: "tinkerbell.org/v1alpha1",
  kind: "Workflow",
  metadata: { name, namespace: "default" },
});
const ours = (name: string) => ({ ...theirs(name), apiVersion: "slipway.dev/v1alpha1" });

test.each(["wf/machine", "workflow/machine", "machine"])("%s is a run of the language that has it", async (word) => {
  await client.create(Theirs, theirs("machine")).catch(() => undefined);
  const { type, dialect } = await findRun({ client, namespace: "default" }, [word]);
  expect([type.group, dialect.name]).toEqual(["tinkerbell.org", "tinkerbell"]);
  expect((await findRun({ client, namespace: "elsewhere" }, [word])).type.group).toBe("slipway.dev");
});

test("a name that runs of two languages have is told of with what to write", async () => {
  await client.create(Theirs, theirs("both"));
  await client.create(Workflow, ours("both"));
  await expect(findRun({ client, namespace: "default" }, ["wf/both"])).rejects.toMatchObject({
    message: 'several kinds have an object "both"',
    hint: "write workflow.slipway.dev/both or workflow.tinkerbell.org/both",
  });
  const named = await findRun({ client, namespace: "default" }, ["workflow.tinkerbell.org/both"]);
  expect(named.dialect.name).toBe("tinkerbell");
});

test.each([
  [["job/x"], "objects of kind Job are not runs"],
  [["nothing/x"], 'the server serves no kind "nothing"'],
])("%j is no run", async (words, message) => {
  await expect(findRun({ client, namespace: "default" }, words)).rejects.toThrow(message);
});

test("the children of a run are what it owns of the kinds its steps have", async () => {
  const { dialect } = await findRun({ client, namespace: "default" }, ["wf"]);
  const run = {
    apiVersion: "slipway.dev/v1alpha1",
    kind: "Workflow",
    metadata: { name: "r", namespace: "default", uid: "u1" },
    spec: { steps: { a: { template: { apiVersion: "v1", kind: "ConfigMap" } }, b: { container: { image: "i" } } } },
    status: {
      statuses: {
        a: { phase: "Succeeded", attempt: 1, reference: { apiVersion: "v1", kind: "ConfigMap", name: "mine" } },
      },
    },
  };
  expect(isRunOf(dialect, run)).toBe(true);
  const type = await findKind(client, "cm").catch(() => findKind(client, "configmaps"));
  const owner = (uid: string) => [{ apiVersion: run.apiVersion, kind: run.kind, name: "r", uid }];
  const map = (name: string, namespace: string, uid?: string) =>
    client.create(type, {
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name, namespace, ...(uid === undefined ? {} : { ownerReferences: owner(uid) }) },
    });
  await map("mine", "default", "u1");
  await map("another's", "default", "u2").catch(() => undefined);
  await map("nobodys", "default");
  await map("elsewhere", "kube-system", "u1");
  expect((await childrenOf(client, run, dialect)).map(({ metadata }) => metadata.name)).toEqual(["mine"]);
});
