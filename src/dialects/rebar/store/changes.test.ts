import { expect, test, vi } from "vitest";
import { FakeClock, type JsonObject, SlipwayError } from "#lib/base/index.ts";
import { Preference } from "../kinds.ts";
import { asJson } from "../model/read.ts";
import { nameOf } from "./names.ts";
import { addWorkflow, byServer, byUser, openOver, rebarMemory, storeFixture } from "./testing/store-fixture.ts";

const code = (Code: number, ...Messages: readonly string[]) => ({
  body: { Code, ...(Messages.length === 0 ? {} : { Messages }) },
});

test("15.9 a failed job stops its machine in the same write, and the next job repeats the task", async () => {
  await using fixture = await storeFixture();
  const { store } = fixture;
  await addWorkflow(store);
  const { Uuid: Machine } = await store.create("machines", { Name: "m1", Workflow: "ww" }, byUser);
  const { job } = await store.postJob({ Machine, Context: "" }, byServer);
  fixture.eventTexts();
  await store.update("jobs", job?.Uuid ?? "", (now) => ({ ...asJson(now), State: "failed" }), byServer);
  expect(store.world.get("machines", Machine)?.Runnable).toBe(false);
  expect(fixture.eventTexts()).toEqual([`jobs.update ${job?.Uuid}`, `machines.update ${Machine}`]);
  await expect(store.postJob({ Machine, Context: "" }, byServer)).rejects.toMatchObject(code(409));
  await store.update("machines", Machine, (now) => ({ ...asJson(now), Runnable: true }), byServer);
  const { job: second } = await store.postJob({ Machine, Context: "" }, byServer);
  expect(second).toMatchObject({ Task: "ta", Previous: job?.Uuid });
});

test("15.17 an action without a runner fails its job, and its log says why", async () => {
  const logged: string[] = [];
  const append = async (_job: string, bytes: Uint8Array) => void logged.push(Buffer.from(bytes).toString());
  const unused = () => Promise.reject(new Error("not used"));
  const logs = { append, size: unused, remove: unused, read: () => new ReadableStream<Uint8Array>().values() };
  await using fixture = await storeFixture({ logs });
  const { store } = fixture;
  const sent = { Name: "m1", Tasks: ["action:beep"] };
  const { Uuid: Machine } = await store.create("machines", sent, byUser);
  expect(await store.postJob({ Machine, Context: "" }, byServer)).toEqual({ code: 204 });
  const machine = store.world.get("machines", Machine);
  expect(machine?.Runnable).toBe(false);
  expect(store.world.get("jobs", machine?.CurrentJob ?? "")).toMatchObject({ State: "failed", Task: "action:beep" });
  expect(logged.join("")).toContain("Action beep validation failed:");
});

test("15.33 of two clients that change one object, each sees the other's change or is called again", async () => {
  await using fixture = await storeFixture();
  const { store, client } = fixture;
  await store.create("profiles", { Name: "pp" }, byUser);
  const other = await openOver(client);
  const add = (name: string) => (now: object) => {
    const { Params } = now as { readonly Params: JsonObject };
    return { ...now, Params: { ...Params, [name]: true } };
  };
  await Promise.all([
    ...["aa", "bb", "cc"].map((name) => store.update("profiles", "pp", add(name), byUser)),
    other.update("profiles", "pp", add("dd"), byUser),
  ]);
  const again = await openOver(client);
  expect(again.world.get("profiles", "pp")?.Params).toEqual({ aa: true, bb: true, cc: true, dd: true });
  await again.close();
  await other.close();
});

test("14 what is in use stays, and what depends on a deleted or returned object is judged anew", async () => {
  await using fixture = await storeFixture();
  const { store } = fixture;
  await addWorkflow(store);
  const inUse = { body: { Code: 409, Type: "StillInUseError" } };
  await expect(store.remove("tasks", "ta", byUser)).rejects.toMatchObject(inUse);
  await expect(store.remove("stages", "s1", byUser)).rejects.toMatchObject(inUse);
  await expect(store.remove("bootenvs", "e1", byUser)).rejects.toMatchObject(inUse);
  await store.create("stages", { Name: "s3", Tasks: ["later"] }, byUser);
  await store.create("workflows", { Name: "w3", Stages: ["s3"] }, byUser);
  expect(store.world.get("workflows", "w3")?.Available).toBe(false);
  fixture.eventTexts();
  await store.create("tasks", { Name: "later" }, byUser);
  expect(store.world.get("workflows", "w3")).toMatchObject({ Available: true, Errors: [] });
  expect(fixture.eventTexts()).toEqual(["tasks.create later", "stages.save s3", "workflows.save w3"]);
});

test("14 duplicates, other keys, missing objects and locked machines are refused", async () => {
  await using fixture = await storeFixture();
  const { store } = fixture;
  await store.create("tasks", { Name: "ta" }, byUser);
  await expect(store.create("tasks", { Name: "ta" }, byUser)).rejects.toMatchObject({ body: { Type: "CREATE" } });
  const renamed = store.update("tasks", "ta", (now) => ({ ...asJson(now), Name: "tb" }), byUser);
  await expect(renamed).rejects.toMatchObject(code(400, "Key change from ta to tb not allowed"));
  await expect(store.remove("tasks", "none", byUser)).rejects.toMatchObject(code(404));
  await expect(store.remove("stages", "none", byUser)).rejects.toMatchObject(code(403));
  const { Uuid } = await store.create("machines", { Name: "m1", Locked: true }, byUser);
  await expect(store.remove("machines", Uuid, byUser)).rejects.toMatchObject(code(403, "Locked"));
  await store.update("machines", Uuid, (now) => ({ ...asJson(now), Locked: false }), byUser);
  await store.remove("machines", Uuid, byUser);
});

test("preferences are checked, kept, and tell that a server has started before", async () => {
  await using fixture = await storeFixture({ firstUser: { name: "rocketskates", password: "secret" } });
  const { store, client } = fixture;
  await expect(store.setPrefs({ nope: "x" }, byUser)).rejects.toMatchObject(code(400, "Unknown Preference nope"));
  await expect(store.setPrefs({ defaultStage: "x" }, byUser)).rejects.toMatchObject(code(400));
  const key = store.tokenKey;
  const after = await store.setPrefs({ defaultStage: "local", baseTokenSecret: "s".repeat(32) }, byUser);
  expect(after).toMatchObject({ defaultStage: "local", knownTokenTimeout: "3600" });
  expect(store.tokenKey).not.toEqual(key);
  const { items } = await client.list(Preference, { namespace: "rebar" });
  expect(JSON.stringify(items)).not.toContain("ssss");

  expect(await store.passwords.check("rocketskates", "secret")).toBe(true);
  expect(await store.passwords.check("rocketskates", "Secret")).toBe(false);
  expect(await store.passwords.check("nobody", "secret")).toBe(false);
  const before = store.world.get("users", "rocketskates")?.Secret;
  await store.passwords.set("rocketskates", "other", byUser);
  expect(store.world.get("users", "rocketskates")?.Secret).not.toBe(before);
  await store.remove("users", "rocketskates", byUser);
  await store.close();
  const again = await openOver(client, { firstUser: { name: "rocketskates", password: "secret" } });
  expect(again.world.get("users", "rocketskates")).toBeUndefined();
  expect(again.tokenKey).toEqual(store.tokenKey);
  await again.close();
});

test.each([
  ["plain.name", "plain.name"],
  ["A Name", "x-84g4sobdck"],
  ["x-ray", "x-f0mn4obp"],
  ["r1.task", "x-e8oist31edlg"],
  ["abcde/%", "x-c5h66p355sig"],
])("the key %s is the name %s", (key, name) => expect(nameOf(key)).toBe(name));

test("keys that are too long to be encoded are hashed", () => {
  expect(nameOf("é".repeat(200))).toMatch(/^h-[0-9a-f]{64}$/);
});

test("2.7 what cannot be judged anew after a change is judged later, without a restart", async () => {
  const memory = rebarMemory();
  const clock = new FakeClock();
  const store = await openOver(memory, { clock });
  await store.create("workflows", { Name: "later", Stages: ["s9"] }, byUser);
  const write = vi.spyOn(memory, "update").mockRejectedValueOnce(new SlipwayError("test-away", "the API is away"));
  await store.create("stages", { Name: "s9" }, byUser);
  await expect.poll(() => write.mock.calls.length).toBe(1);
  expect(store.world.get("workflows", "later")?.Available).toBe(false);
  await clock.advance(30_000);
  await expect.poll(() => store.world.get("workflows", "later")?.Available).toBe(true);
  await store.close();
});
