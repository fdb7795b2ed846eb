import { expect, test } from "vitest";
import { err, FakeClock, ok, silentLog, type JsonObject } from "#lib/base/index.ts";
import type { Lister } from "#kernel/kit/index.ts";
import { memoryClient } from "#kernel/kit/testing/index.ts";
import type { KubeObject, Stored } from "#kernel/model/index.ts";
import { DefinitionRevision, TraitDefinition } from "../kinds.ts";
import type { Definition } from "./definition.ts";
import { installShipped, objectOfDefinition, shippedAnnotation } from "./install.ts";
import { revisionKeeper } from "./revisions.ts";
import { definitionTypes } from "./types.ts";
import { typeFacts } from "./types.ts";

const clock = new FakeClock();
const signal = new AbortController().signal;
const newClient = () =>
  memoryClient({
    clock,
    types: [...definitionTypes.map((type) => typeFacts[type].kind), DefinitionRevision],
    namespaces: ["vela-system"],
  });
type Client = ReturnType<typeof newClient>;

const all = async <T extends KubeObject>(client: Client, type: Parameters<Client["list"]>[0]) =>
  (await client.list<T>(type)).items;

/** What a mirror would show now. */
const mirrorOf = <T extends KubeObject>(items: readonly Stored<T>[]): Lister<T> => ({
  get: (key) => items.find(({ metadata }) => `${metadata.namespace}/${metadata.name}` === key),
  list: ({ namespace } = {}) =>
    items.filter(({ metadata }) => namespace === undefined || metadata.namespace === namespace),
  byIndex: () => [],
});

const trait = (text: string, name = "scaler"): KubeObject => ({
  apiVersion: "core.oam.dev/v1beta1",
  kind: "TraitDefinition",
  metadata: { name, namespace: "default" },
  spec: { schematic: { cue: { template: text } } },
});

async function keep(client: Client, limit = 20, name = "scaler") {
  const cue = {
    vet: (text: string) =>
      Promise.resolve(
        text.startsWith("bad")
          ? err({
              kind: "template" as const,
              message: "wrong",
              problems: [{ code: "cue-syntax", message: "expected operand", line: 3, column: 7 }],
            })
          : ok(undefined),
      ),
  };
  const keeper = revisionKeeper("trait", {
    client,
    definitions: mirrorOf(await all(client, TraitDefinition)),
    revisions: mirrorOf(await all<DefinitionRevision>(client, DefinitionRevision)),
    limit,
    cue,
  });
  await keeper.reconcile({ namespace: "default", name }, { signal, log: silentLog, now: clock.now(), failures: 0 });
  const [definition] = (await all(client, TraitDefinition)).filter(({ metadata }) => metadata.name === name);
  const revisions = await all<DefinitionRevision>(client, DefinitionRevision);
  return { definition, names: revisions.map(({ metadata }) => metadata.name) };
}

async function change(client: Client, text: string): Promise<void> {
  const [before] = await all(client, TraitDefinition);
  await client.update(TraitDefinition, { ...before, spec: trait(text).spec } as Stored);
}

test("every specification a definition has had is a revision, equal ones only once", async () => {
  const client = newClient();
  await client.create(TraitDefinition, trait("a"));
  expect((await keep(client)).names).toEqual(["scaler-v1"]);
  expect((await keep(client)).names).toEqual(["scaler-v1"]);
  await change(client, "b");
  const second = await keep(client);
  expect(second.names).toEqual(["scaler-v1", "scaler-v2"]);
  expect(second.definition?.status).toMatchObject({ latestRevision: { name: "scaler-v2", revision: 2 } });
  await change(client, "a");
  const third = await keep(client);
  expect(third.names).toEqual(["scaler-v1", "scaler-v2"]);
  expect(third.definition?.status).toMatchObject({ latestRevision: { name: "scaler-v1", revision: 1 } });
  const [stored] = await all<DefinitionRevision>(client, DefinitionRevision);
  expect(stored?.spec).toMatchObject({
    definitionType: "Trait",
    traitDefinition: { kind: "TraitDefinition", spec: { schematic: { cue: { template: "a" } } } },
  });
});

test("only the newest revisions are kept", async () => {
  const client = newClient();
  await client.create(TraitDefinition, trait("a"));
  for (const text of ["a", "b", "c"]) {
    await change(client, text);
    await keep(client, 2);
  }
  expect((await keep(client, 2)).names).toEqual(["scaler-v2", "scaler-v3"]);
});

test("a name that another type's revision has is left out", async () => {
  const client = newClient();
  await client.create(TraitDefinition, trait("a"));
  await client.create(DefinitionRevision, {
    apiVersion: "core.oam.dev/v1beta1",
    kind: "DefinitionRevision",
    metadata: { name: "scaler-v1", namespace: "default" },
    spec: { revision: 1, revisionHash: "h", definitionType: "Component" },
  });
  expect((await keep(client)).names).toEqual(["scaler-v1", "scaler-v2"]);
});

test("bad input: a template with an error is Ready=False with its place", async () => {
  const client = newClient();
  await client.create(TraitDefinition, trait("bad"));
  expect((await keep(client)).definition?.status).toMatchObject({
    conditions: [{ type: "Ready", status: "False", reason: "ReconcileError", message: "3:7: expected operand" }],
  });
  await change(client, "good");
  expect((await keep(client)).definition?.status).toMatchObject({
    conditions: [{ type: "Ready", status: "True", reason: "Available" }],
  });
});

const shipped = (template: string): readonly Definition[] => [
  { type: "trait", name: "scaler", template, spec: { podDisruptive: true }, annotations: { "x.y/description": "d" } },
];

async function install(client: Client, template: string): Promise<number> {
  const stored = mirrorOf(await all(client, TraitDefinition));
  const none = mirrorOf<KubeObject>([]);
  return await installShipped(shipped(template), {
    client,
    clock,
    stored: { component: none, trait: stored, policy: none, "workflow-step": none },
    systemNamespace: "vela-system",
    signal,
  });
}

const templateIn = async (client: Client) => {
  const [found] = await all(client, TraitDefinition);
  return found?.spec as JsonObject | undefined;
};

test("shipped definitions are objects of the system namespace, and follow the version", async () => {
  const client = newClient();
  expect(await install(client, "one")).toBe(1);
  expect(await install(client, "one")).toBe(0);
  expect(await install(client, "two")).toBe(1);
  expect(await templateIn(client)).toEqual({ podDisruptive: true, schematic: { cue: { template: "two" } } });
});

test("a definition that somebody changed or wrote is never overwritten", async () => {
  const client = newClient();
  await install(client, "one");
  const [before] = await all(client, TraitDefinition);
  await client.update(TraitDefinition, { ...before, spec: trait("mine").spec } as Stored);
  expect(await install(client, "two")).toBe(0);
  expect(await templateIn(client)).toEqual(trait("mine").spec);
  const other = newClient();
  await other.create(TraitDefinition, { ...trait("mine"), metadata: { name: "scaler", namespace: "vela-system" } });
  expect(await install(other, "two")).toBe(0);
});

test("a shipped definition has no revision before it is changed", async () => {
  const client = newClient();
  const [definition] = shipped("one");
  if (definition === undefined) throw new Error("none");
  const object = objectOfDefinition(definition, "default");
  expect(object.metadata.annotations?.[shippedAnnotation]).toMatch(/^[0-9a-f]{16}$/);
  await client.create(TraitDefinition, object);
  expect((await keep(client)).names).toEqual([]);
  await change(client, "mine");
  expect((await keep(client)).names).toEqual(["scaler-v1"]);
});
