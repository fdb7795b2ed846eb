import { describe, expect, test } from "vitest";
import { FakeClock } from "#lib/base/index.ts";
import { memoryStore } from "../store/open.ts";
import { admin, authorize } from "./identity.ts";
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
});

describe("authorization", () => {
  test("administrators may do everything, others are told what they may not", () => {
    const access = { verb: "list", group: "batch", resource: "jobs", namespace: "team" };
    expect(refusal(() => authorize(admin, access))).toBeUndefined();
    expect(refusal(() => authorize({ user: "eve", groups: [] }, access))).toMatchObject({
      code: 403,
      message:
        'jobs.batch is forbidden: User "eve" cannot list resource "jobs" in API group "batch" in the namespace "team"',
    });
    expect(
      refusal(() => authorize({ user: "eve", groups: [] }, { verb: "get", group: "", resource: "pods" })),
    ).toMatchObject({
      message: expect.stringContaining("at the cluster scope"),
    });
  });
});
