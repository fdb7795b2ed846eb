import { describe, expect, test } from "vitest";
import { createRegistry } from "../crds/registry.ts";
import type { ServedResource } from "../kinds/served-resource.ts";
import { memoryStore } from "../store/open.ts";
import type { Entry } from "../store/store.ts";
import { compileFieldSelector } from "./field-selector.ts";

const registry = createRegistry({ now: () => 0 });
const served = (plural: string): ServedResource => {
  const found = registry.find("", "v1", plural);
  if (found === undefined) throw new Error(plural);
  return found;
};

async function entryOf(plural: string, name: string, rest: Record<string, never> | object): Promise<Entry> {
  const store = memoryStore();
  const key = { group: "", resource: plural, namespace: "n", name };
  const object = {
    apiVersion: "v1",
    metadata: { name, namespace: "n", uid: name, creationTimestamp: "2026-01-01T00:00:00Z" },
    ...rest,
  };
  return store.write((transaction) => transaction.put(key, object as never));
}

describe("field selectors", () => {
  test.each<[string, boolean]>([
    ["metadata.name=p", true],
    ["metadata.name==p", true],
    ["metadata.name=q", false],
    ["metadata.name!=q", true],
    ["metadata.namespace=n,metadata.name=p", true],
    ["metadata.namespace=m,metadata.name=p", false],
    ["status.phase=Running", true],
    ["status.phase!=Running", false],
    ["spec.nodeName=", true],
    ["status.phase=Running,", true],
    ["status.phase=Run\\,ning", false],
  ])("%j on a running Pod is %s", async (text, expected) => {
    const entry = await entryOf("pods", "p", { kind: "Pod", status: { phase: "Running" } });
    expect(compileFieldSelector(text, served("pods"))?.matches(entry)).toBe(expected);
  });

  test("backslashes stand before commas and equals signs in values", async () => {
    const entry = await entryOf("secrets", "s", { kind: "Secret", type: "a,b=c\\d" });
    expect(compileFieldSelector("type=a\\,b\\=c\\\\d", served("secrets"))?.matches(entry)).toBe(true);
  });

  test("one that asks for a name says so", () => {
    expect(compileFieldSelector("metadata.name=p", served("pods"))?.name).toBe("p");
    expect(compileFieldSelector("metadata.name!=p", served("pods"))?.name).toBeUndefined();
  });

  test("an empty one selects everything", () => {
    expect(compileFieldSelector("", served("pods"))).toBeUndefined();
  });

  test.each([
    "metadata.name",
    "=a",
    "spec.containers=x",
    "metadata.name=a=b",
    "metadata.name=a\\b",
    "metadata.name\\=a",
  ])("%j is refused", (text) => {
    expect(() => compileFieldSelector(text, served("pods"))).toThrow(/field/);
  });
});
