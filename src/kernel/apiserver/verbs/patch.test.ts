import { beforeEach, expect, test } from "vitest";
import { type TestContext, testContext } from "../testing/index.ts";
import { patchObject } from "./patch.ts";

let context: TestContext;
beforeEach(() => void (context = testContext()));

const target = { namespace: "default", name: "m", endpoint: "main" } as const;
const request = { fieldManager: "test" };
const additions = Array.from({ length: 10_000 }, (_, at) => ({ op: "add", path: `/data/key${at}`, value: "" }));

const patch = (type: "json" | "merge", body: typeof additions | object) =>
  patchObject(context, context.served("configmaps"), target, { type, body: body as typeof additions }, request);

test("a long JSON patch is applied, checked and given its owners in turns of their own", async () => {
  await context.put("configmaps", { kind: "ConfigMap", metadata: { name: "m" }, data: {} });
  await patch("merge", { data: { owned: "" } });
  let [turns, isDone] = [0, false];
  const count = (): void => {
    turns++;
    if (!isDone) setImmediate(count);
  };
  setImmediate(count);
  await patch("json", additions);
  isDone = true;
  // 19 between the operations; the others are of what follows.
  expect(turns).toBeGreaterThanOrEqual(25);
});

test("a long JSON patch keeps what others wrote meanwhile", async () => {
  await context.put("configmaps", { kind: "ConfigMap", metadata: { name: "m" }, data: {} });
  const state = { isDone: false };
  const long = patch("json", additions).finally(() => (state.isDone = true));
  const others: string[] = [];
  while (!state.isDone) {
    others.push(`other${others.length}`);
    await patch("merge", { data: { [others.at(-1) ?? ""]: "" } });
  }
  await long;
  const { entry } = await patch("merge", {});
  const { data = {} } = (entry?.object() ?? {}) as { readonly data?: Readonly<Record<string, string>> };
  expect(others.length).toBeGreaterThan(5);
  expect(Object.keys(data).toSorted()).toEqual([...others, ...additions.map(({ path }) => path.slice(6))].toSorted());
});
