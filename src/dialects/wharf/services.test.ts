import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { noteServer } from "./noted-servers.ts";
import { enginesOf, ownServices, servicesOf } from "./services.ts";

const listen = { address: "127.0.0.1:5001", isUsual: true };
const own = { address: "127.0.0.1:5009", token: "ours" };
const engineUrl = "https://elsewhere.example:8443/api/worker";

test("a token goes to the address that asks for it, and to no other", async () => {
  const [engine] = enginesOf({ engineUrl, listen }, own, { engine: "theirs", own: "ours" });
  expect(engine).toMatchObject({ url: engineUrl, token: "theirs" });
  const services = await servicesOf({}, ownServices("127.0.0.1:5001", "ours", engine));
  expect(services).toEqual({
    api: { url: "http://127.0.0.1:5001", token: "ours" },
    provisioner: { url: "https://elsewhere.example:8443", token: "theirs" },
  });
});

test("an engine elsewhere without a token gets none, and so does one that only has the usual address", () => {
  for (const given of [{ engineUrl, listen }, { listen }]) {
    const [engine] = enginesOf(given, undefined, { own: "ours" });
    expect(engine).not.toHaveProperty("token");
  }
  const { provisioner } = ownServices("127.0.0.1:5001", "ours", enginesOf({ engineUrl, listen }, undefined, {})[0]);
  expect(provisioner?.token).toBeUndefined();
});

describe("where no provisioner is named and this server has none,", () => {
  let notes: string;
  beforeEach(async () => {
    notes = await mkdtemp(join(tmpdir(), "slipway-services-"));
  });
  afterEach(() => rm(notes, { recursive: true }));
  const noted = async (address: string, token?: string) => await noteServer([notes], "provisioner", address, token);
  const services = () => {
    const [engine] = enginesOf({ listen, notes: [notes] }, undefined, { own: "ours" });
    return { engine, provisioner: ownServices("127.0.0.1:5001", "ours", engine).provisioner };
  };

  test("whoever has the usual address is asked by nobody", async () => {
    await noted("127.0.0.1:4001", "theirs");
    const { engine, provisioner } = services();
    const told = {
      code: "provisioner-unreachable",
      message:
        "no provisioner of this user runs here; name the one that is meant: --wharf-engine-url http://127.0.0.1:5009/api/worker",
    };
    await expect(engine?.find?.()).rejects.toMatchObject(told);
    await expect(provisioner?.find?.()).rejects.toMatchObject(told);
  });

  test("the one that this user has started is, from then on, with a token if it asks for the one of this server", async () => {
    const { engine, provisioner } = services();
    const takeBack = await noted("127.0.0.1:4001");
    expect(await engine?.find?.()).toEqual({ url: "http://127.0.0.1:4001" });
    await takeBack?.();
    await noted("127.0.0.1:4002", "ours");
    expect(await provisioner?.find?.()).toEqual({ url: "http://127.0.0.1:4002", token: "ours" });
    // What its workers ask for is made of that one.
    expect(provisioner?.token).toBe("ours");
  });

  test("of several one has to be named", async () => {
    await noted("127.0.0.1:4001");
    await noted("127.0.0.1:4002");
    await expect(services().engine?.find?.()).rejects.toThrow(/several run here: http.*, http.*--wharf-engine-url/);
    await noted("127.0.0.1:5009");
    expect(await services().engine?.find?.()).toEqual({ url: "http://127.0.0.1:5009" });
  });
});

test("the provisioner of this server asks for the token of this server", () => {
  const [engine] = enginesOf({ listen }, own, {});
  expect(engine).toMatchObject({ url: "http://127.0.0.1:5009/api/worker", token: "ours" });
  expect(engine).not.toHaveProperty("find");
  expect(enginesOf({}, undefined, {})).toEqual([]);
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
