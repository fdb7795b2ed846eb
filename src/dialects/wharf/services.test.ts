import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { enginesOf, ownServices, servicesOf } from "./services.ts";

const listen = { address: "127.0.0.1:5001", isUsual: true };
const own = { address: "127.0.0.1:5009", token: "ours" };
const engineUrl = "https://elsewhere.example:8443/api/worker";

test("a token goes to the address that asks for it, and to no other", async () => {
  const [engine] = enginesOf({ engineUrl, listen }, own, "theirs");
  expect(engine).toMatchObject({ url: engineUrl, token: "theirs" });
  const services = await servicesOf({}, ownServices("127.0.0.1:5001", "ours", engine));
  expect(services).toEqual({
    api: { url: "http://127.0.0.1:5001", token: "ours" },
    provisioner: { url: "https://elsewhere.example:8443", token: "theirs" },
  });
});

test("an engine elsewhere without a token gets none, and so does one that only has the usual address", () => {
  for (const given of [{ engineUrl, listen }, { listen }]) {
    const [engine] = enginesOf(given, undefined, undefined);
    expect(engine).not.toHaveProperty("token");
    const { provisioner } = ownServices("127.0.0.1:5001", "ours", engine);
    expect(provisioner?.token).toBeUndefined();
  }
});

test("the provisioner of this server asks for the token of this server", () => {
  const [engine] = enginesOf({ listen }, own, undefined);
  expect(engine).toMatchObject({ url: "http://127.0.0.1:5009/api/worker", token: "ours" });
  expect(enginesOf({}, undefined, undefined)).toEqual([]);
});

test("services that were named ask for what was named with each; without both there is nothing to do", async () => {
  const directory = await mkdtemp(join(tmpdir(), "slipway-services-"));
  const tokenFile = join(directory, "token");
  const own = ownServices("127.0.0.1:1", "ours", undefined);
  const named = { api: { url: "http://api.example/", tokenFile }, provisioner: { url: "http://prov.example" } };
  try {
    await expect(servicesOf(named, own)).rejects.toMatchObject({ code: "wharf-token" });
    await writeFile(tokenFile, "theirs\n");
    expect(await servicesOf(named, own)).toEqual({
      api: { url: "http://api.example", token: "theirs" },
      provisioner: { url: "http://prov.example", token: undefined },
    });
  } finally {
    await rm(directory, { recursive: true });
  }
  expect(await servicesOf({}, own)).toBeUndefined();
});
