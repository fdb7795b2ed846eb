import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type JsonValue, systemClock, textAt } from "#lib/base/index.ts";
import { ApiFixture, firstUser } from "../api/testing/api-fixture.ts";
import { runDrpcli } from "./cli.ts";

let server: ApiFixture;
beforeAll(async () => {
  server = await ApiFixture.open();
});
afterAll(() => server.close());

async function drpcli(...words: readonly string[]) {
  const variables: Readonly<Record<string, string>> = {
    RS_ENDPOINT: `https://127.0.0.1:${server.api.https.port}`,
    RS_KEY: `${firstUser.name}:${firstUser.password}`,
  };
  let [out, err] = ["", ""];
  const code = await runDrpcli(words, {
    variable: (name) => variables[name],
    environment: {},
    directory: server.root,
    clock: systemClock,
    signal: new AbortController().signal,
    readStdin: () => Promise.resolve(Buffer.alloc(0)),
    out: (text) => (out += Buffer.from(text).toString("utf8")),
    err: (text) => (err += text),
  });
  return { code, out, err };
}

const printed = async (...words: readonly string[]): Promise<JsonValue> => {
  const { out, err } = await drpcli(...words);
  expect(err).toBe("");
  return JSON.parse(out) as JsonValue;
};

test("13 show --wait prints the object once it has another version, or that there is none", async () => {
  await printed("profiles", "create", "waited");
  const { out: tag } = await drpcli("profiles", "etag", "waited");
  expect(await drpcli("profiles", "show", "waited", "--wait", "50ms")).toMatchObject({ out: "Timeout: no change\n" });
  expect(await drpcli("profiles", "exists", "waited", "--wait", "50ms")).toMatchObject({ out: "Timeout: no change\n" });
  const waiting = printed("profiles", "show", "waited", "--wait", "1m", "--etag", tag.trim());
  await printed("profiles", "set", "waited", "param", "color", "to", "red");
  expect(await waiting).toMatchObject({ Name: "waited", Params: { color: "red" } });
});

test("13 inspect shows the jobs of a machine or of one of its tasks, newest first, with logs and actions if asked", async () => {
  const script = [{ Name: "s", Contents: "echo hello" }];
  await printed("tasks", "create", JSON.stringify({ Name: "first", Templates: script }));
  await printed("tasks", "create", JSON.stringify({ Name: "second", Templates: script }));
  const machine = await printed("machines", "create", JSON.stringify({ Name: "m1", Tasks: ["first", "second"] }));
  const uuid = textAt(machine, "Uuid") ?? "";
  for (const task of ["first", "second"]) {
    const job = await printed("machines", "jobs", "create", uuid);
    expect(textAt(job, "Task")).toBe(task);
    await drpcli("jobs", "log", textAt(job, "Uuid") ?? "", `output of ${task}\n`);
    await printed("machines", "jobs", "state", uuid, "to", "finished");
  }
  const tasks = (jobs: JsonValue) => (Array.isArray(jobs) ? jobs.map((job) => textAt(job, "Task")) : jobs);
  expect(tasks(await printed("machines", "inspect", "jobs", "Name:m1"))).toEqual(["second", "first"]);
  expect(tasks(await printed("machines", "inspect", "jobs", uuid, "1"))).toEqual(["first"]);
  const whole = await printed("machines", "inspect", "tasks", uuid, "first", "-A");
  expect(whole).toEqual([
    expect.objectContaining({
      Task: "first",
      Meta: {
        log: expect.stringContaining("output of first") as string,
        actionCount: "1",
        "action.0": "echo hello",
      },
    }),
  ]);
  expect((await drpcli("machines", "inspect", "tasks", uuid)).err).toContain("inspect tasks requires 2 or 3 arguments");
});

test("13 uploadiso copies the ISOs of a boot environment from their addresses to the server", async () => {
  const origin = createServer((_request, response) => void response.end("an iso"));
  await new Promise<void>((resolve) => void origin.listen(0, "127.0.0.1", resolve));
  try {
    const IsoUrl = `http://127.0.0.1:${(origin.address() as AddressInfo).port}/x.iso`;
    const SupportedArchitectures = { arm64: { IsoFile: "arm.iso", IsoUrl }, amd64: { IsoFile: "elsewhere.iso" } };
    await printed(
      "bootenvs",
      "create",
      JSON.stringify({ Name: "os-install", OS: { Name: "os", IsoFile: "x.iso", IsoUrl, SupportedArchitectures } }),
    );
    expect((await drpcli("bootenvs", "uploadiso", "os-install")).out).toContain("has no IsoUrl for elsewhere.iso");
    expect(await printed("isos", "list")).toEqual(["arm.iso", "x.iso"]);
    expect((await drpcli("isos", "download", "x.iso")).out).toBe("an iso");
    expect((await drpcli("bootenvs", "uploadiso", "local")).err).toBe("Error: BootEnv local does not require an iso\n");
  } finally {
    origin.close();
  }
});
