import { expect, test } from "vitest";
import { configMap, testContext } from "../testing/index.ts";
import { createObject } from "./create.ts";

/** Creates an object from a base; every name that is made while `same` holds ends in the same five letters. */
async function creator() {
  const chance = { tries: 0, sameFor: Number.POSITIVE_INFINITY };
  const base = testContext();
  // Five letters are one name.
  const random = () => (Math.floor(chance.tries++ / 5) < chance.sameFor ? 0.5 : 0);
  const context = { ...base, random };
  await base.put("namespaces", { kind: "Namespace", metadata: { name: "default", namespace: "" } });
  const create = async (generateName: string, sameFor: number) => {
    Object.assign(chance, { tries: 0, sameFor });
    const body = { ...configMap(""), metadata: { generateName } };
    const { entry } = await createObject(context, base.served("configmaps"), "default", body, {});
    return entry?.key.name;
  };
  return { create };
}

test("a name that is taken is made again, eight times in all", async () => {
  const { create } = await creator();
  const first = await create("a-", 1);
  expect(await create("a-", 7)).toBe("a-bbbbb");
  expect(await create("b-", 1)).not.toBe(first);
  await expect(create("a-", 8)).rejects.toMatchObject({ reason: "AlreadyExists", code: 409 });
});

test("a long base is cut, so that the name is a label still", async () => {
  const { create } = await creator();
  const name = (await create("x".repeat(70), 1)) ?? "";
  expect([name.length, name.slice(0, 58)]).toEqual([63, "x".repeat(58)]);
});
