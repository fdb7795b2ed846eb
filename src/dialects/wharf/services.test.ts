import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { deferred } from "#lib/base/index.ts";
import { noteServer } from "#kernel/doors/index.ts";
import type { OpenedPort } from "#kernel/dialect/index.ts";
import { enginesOf, type OwnService, servicesOf } from "./services.ts";

const listen = { address: "127.0.0.1:5001", isUsual: true };
const engineUrl = "https://elsewhere.example:8443/api/worker";
const own = (address: string): OwnService => ({
  address,
  opened: Promise.resolve({ address, port: undefined }),
  token: "ours",
});

let root: string;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "slipway-services-"));
});
afterEach(() => rm(root, { recursive: true }));

async function note(port: number, token: string, serves = "provisioner") {
  const tokenFile = join(root, token);
  await writeFile(tokenFile, token);
  return await noteServer([root], { serves, url: `http://127.0.0.1:${port}`, tokenFile });
}
const engineWith = (given: Parameters<typeof enginesOf>[0], mine?: OwnService, token?: string) =>
  enginesOf(given, mine, token, [root])[0];

test("a token goes to the address that requires it, and to no other", async () => {
  const engine = engineWith({ engineUrl, listen }, own("127.0.0.1:5009"), "theirs");
  expect(engine).toMatchObject({ url: engineUrl, token: "theirs" });
  const services = await servicesOf({}, [], own("127.0.0.1:5001"), engine);
  expect(await services?.()).toEqual({
    api: { url: "http://127.0.0.1:5001", token: "ours" },
    provisioner: { url: "https://elsewhere.example:8443", token: "theirs" },
  });
});

test("an engine that was named without a token gets none, unless this user's note has one for its address", async () => {
  expect(await engineWith({ engineUrl, listen })?.find?.()).toEqual({ url: "https://elsewhere.example:8443" });
  await note(4001, "noted");
  const noted = engineWith({ engineUrl: "http://127.0.0.1:4001/api/worker", listen });
  expect(await noted?.find?.()).toEqual({ url: "http://127.0.0.1:4001", token: "noted" });
});

test("where none is named, only a provisioner of this user is asked, whoever has the usual address", async () => {
  const engine = engineWith({ listen });
  await expect(engine?.find?.()).rejects.toMatchObject({
    code: "provisioner-unreachable",
    message: "this user runs no provisioner here; choose one: --wharf-engine-url http://127.0.0.1:5009/api/worker",
  });
  const takeBack = await note(4001, "first");
  expect(await engine?.find?.()).toEqual({ url: "http://127.0.0.1:4001", token: "first" });
  await takeBack?.();
  await note(4002, "second");
  expect(await engine?.find?.()).toEqual({ url: "http://127.0.0.1:4002", token: "second" });
  await note(4003, "third");
  await expect(engine?.find?.()).rejects.toThrow(/several servers run here: http.*, http.*--wharf-engine-url/);
  await note(5009, "usual");
  expect(await engine?.find?.()).toEqual({ url: "http://127.0.0.1:5009", token: "usual" });
});

test("the provisioner of this process is asked once its port is open", async () => {
  const opening = deferred<OpenedPort<unknown>>();
  const engine = engineWith({ listen }, { address: undefined, opened: opening.promise, token: "ours" });
  expect(engine?.url).toBe("http://127.0.0.1:5009/api/worker");
  const found = engine?.find?.();
  opening.resolve({ address: "127.0.0.1:4001", port: undefined });
  expect(await found).toEqual({ url: "http://127.0.0.1:4001", token: "ours" });
  expect(engineWith({})).toBeUndefined();
});

test("services that were named get the token that was named with each; without both there is nothing to do", async () => {
  const tokenFile = join(root, "token");
  const named = { api: { url: "http://api.example/", tokenFile }, provisioner: { url: "http://prov.example" } };
  await expect(servicesOf(named, [root], own("127.0.0.1:1"))).rejects.toMatchObject({ code: "auth-token" });
  await writeFile(tokenFile, "theirs\n");
  const services = await (await servicesOf(named, [root], own("127.0.0.1:1")))?.();
  expect(services?.api).toEqual({ url: "http://api.example", token: "theirs" });
  expect(await services?.provisioner.find?.()).toEqual({ url: "http://prov.example" });
  expect(await servicesOf({}, [root], own("127.0.0.1:1"))).toBeUndefined();
});

test("services that were named without tokens are asked with those of their notes, also when they start later", async () => {
  const named = { api: { url: "http://127.0.0.1:4001" }, provisioner: { url: "http://127.0.0.1:4002" } };
  const services = await (await servicesOf(named, [root]))?.();
  expect(await services?.api.findToken?.()).toBeUndefined();
  await note(4001, "of-the-api", "wharf-api");
  await note(4002, "of-the-provisioner");
  expect(await services?.api.findToken?.()).toBe("of-the-api");
  expect((await services?.provisioner.find?.())?.token).toBe("of-the-provisioner");
});
