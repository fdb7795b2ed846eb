import { describe, expect, test } from "vitest";
import { FakeClock } from "#lib/base/index.ts";
import { memoryStore } from "../store/open.ts";
import { admin } from "./identity.ts";
import { Authenticator, ensureAdminToken, isAdminToken } from "./tokens.ts";

const refusal = (run: () => unknown): unknown => {
  try {
    run();
    return undefined;
  } catch (thrown) {
    return thrown;
  }
};

describe("the admin token", () => {
  test("has 256 random bits, of which the store keeps the hash only", async () => {
    const store = memoryStore();
    const token = await ensureAdminToken(store);
    expect(Buffer.from(token, "base64url")).toHaveLength(32);
    expect(isAdminToken(store, token)).toBe(true);
    expect(store.system.get("authz/admin-token")?.toString("latin1")).not.toContain(token);
    expect(store.system.get("authz/admin-token")).toHaveLength(32);
  });

  test("is kept when it is known, and replaced when it is lost", async () => {
    const store = memoryStore();
    const token = await ensureAdminToken(store);
    expect(await ensureAdminToken(store, token)).toBe(token);
    const other = await ensureAdminToken(store, "wrong");
    expect(other).not.toBe(token);
    expect(isAdminToken(store, token)).toBe(false);
  });
});

describe("authentication", () => {
  test.each([undefined, "", "Bearer", "Bearer ", "Basic YTpi", "Bearer a b", "bearer\tx"])(
    "%j is nobody",
    async (header) => {
      const store = memoryStore();
      await ensureAdminToken(store);
      const thrown = refusal(() => new Authenticator(store, new FakeClock()).authenticate(header, "127.0.0.1"));
      expect(thrown).toMatchObject({ code: 401 });
    },
  );

  test("the right token is the administrator", async () => {
    const store = memoryStore();
    const token = await ensureAdminToken(store);
    expect(new Authenticator(store, new FakeClock()).authenticate(`Bearer ${token}`, "127.0.0.1")).toBe(admin);
  });

  test("wrong ones are limited by address and second, right ones never", async () => {
    const clock = new FakeClock();
    const store = memoryStore();
    const token = await ensureAdminToken(store);
    const door = new Authenticator(store, clock);
    const attempt = (address: string) => refusal(() => door.authenticate("Bearer guess", address));
    for (let count = 0; count < 10; count++) expect(attempt("1.1.1.1")).toMatchObject({ code: 401 });
    expect(attempt("1.1.1.1")).toMatchObject({ code: 429 });
    expect(attempt("2.2.2.2")).toMatchObject({ code: 401 });
    expect(door.authenticate(`Bearer ${token}`, "1.1.1.1")).toBe(admin);
    await clock.advance(1000);
    expect(attempt("1.1.1.1")).toMatchObject({ code: 401 });
  });

  test("a store without a token lets nobody in", () => {
    expect(isAdminToken(memoryStore(), "")).toBe(false);
  });

  test("a record that is no hash lets nobody in", async () => {
    const store = memoryStore();
    await store.system.put("authz/admin-token", Buffer.alloc(0));
    expect(isAdminToken(store, "")).toBe(false);
    await store.system.put("authz/admin-token", Buffer.from("plain"));
    expect(isAdminToken(store, "plain")).toBe(false);
  });

  test("the scheme is read as HTTP reads it, the token exactly", async () => {
    const store = memoryStore();
    const token = await ensureAdminToken(store);
    const door = new Authenticator(store, new FakeClock());
    expect(door.authenticate(`bearer ${token}`, "a")).toBe(admin);
    for (const wrong of [token.slice(1), `${token}x`, token.toLowerCase(), ` ${token}`, `${token} `])
      expect(refusal(() => door.authenticate(`Bearer ${wrong}`, "b"))).toMatchObject({
        code: 401,
        message: "Unauthorized",
      });
  });

  test("a token of megabytes is no work", async () => {
    const store = memoryStore();
    await ensureAdminToken(store);
    const door = new Authenticator(store, new FakeClock());
    expect(refusal(() => door.authenticate(`Bearer ${"x".repeat(4097)}`, "a"))).toMatchObject({ code: 401 });
  });

  test("a request without credentials is no failed attempt", async () => {
    const store = memoryStore();
    await ensureAdminToken(store);
    const door = new Authenticator(store, new FakeClock());
    for (let count = 0; count < 50; count++)
      expect(refusal(() => door.authenticate(undefined, "1.1.1.1"))).toMatchObject({ code: 401 });
  });

  test("guesses from very many addresses fill no memory and lock nobody out", async () => {
    const store = memoryStore();
    const token = await ensureAdminToken(store);
    const door = new Authenticator(store, new FakeClock());
    for (let address = 0; address < 2500; address++)
      expect(refusal(() => door.authenticate("Bearer guess", `10.0.${address >> 8}.${address & 255}`))).toMatchObject({
        code: 401,
      });
    expect(door.authenticate(`Bearer ${token}`, "10.0.0.1")).toBe(admin);
  });
});
