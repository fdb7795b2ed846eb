import { expect, test } from "vitest";
import { memoryStore } from "../store/open.ts";
import { createStaticToken, revokeStaticTokens, StaticTokens } from "./static-tokens.ts";

test("a token is its user's until it is taken back; the store has no more than its hash", async () => {
  const store = memoryStore();
  const tokens = new StaticTokens(store);
  expect(tokens.find("")).toBeUndefined();
  const one = await createStaticToken(store, "ann", ["slipway:viewers"]);
  const two = await createStaticToken(store, "ann", []);
  const other = await createStaticToken(store, "bob", ["system:authenticated"]);
  expect(Buffer.from(one, "base64url")).toHaveLength(32);
  expect(store.system.get("authz/tokens")?.toString()).not.toContain(one);
  expect(tokens.find(one)).toEqual({ user: "ann", groups: ["slipway:viewers", "system:authenticated"] });
  expect(tokens.find(other)).toEqual({ user: "bob", groups: ["system:authenticated"] });
  expect(tokens.find(one)).toBe(tokens.find(one));
  expect(await revokeStaticTokens(store, "ann")).toBe(2);
  expect([tokens.find(one), tokens.find(two)]).toEqual([undefined, undefined]);
  expect(tokens.find(other)?.user).toBe("bob");
  expect(await revokeStaticTokens(store, "ann")).toBe(0);
});

test("a damaged record lets nobody in", async () => {
  const store = memoryStore();
  const token = await createStaticToken(store, "ann", []);
  for (const text of ["[]", "{}", '{"rows":[7,{"hash":"x"},{"user":"y"}]}']) {
    await store.system.put("authz/tokens", Buffer.from(text));
    expect(new StaticTokens(store).find(token)).toBeUndefined();
  }
});
