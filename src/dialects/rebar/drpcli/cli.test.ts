import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { isJsonObject, type JsonObject, systemClock } from "#lib/base/index.ts";
import { temporaryDirectory, until, withServer } from "../agent/testing/agents.ts";
import { FakeServer } from "../agent/testing/fake-server.ts";
import { runDrpcli } from "./cli.ts";

async function session(machine: JsonObject = {}) {
  const server = new FakeServer(machine);
  const endpoint = await withServer(server);
  const directory = await temporaryDirectory();
  const run = async (words: readonly string[], stdin = "", variables: Readonly<Record<string, string>> = {}) => {
    let [out, err] = ["", ""];
    const known: Readonly<Record<string, string>> = { RS_ENDPOINT: endpoint, RS_TOKEN: "t", ...variables };
    const code = await runDrpcli(words, {
      variable: (name) => known[name],
      environment: {},
      directory,
      clock: systemClock,
      signal: new AbortController().signal,
      readStdin: () => Promise.resolve(Buffer.from(stdin)),
      out: (text) => (out += Buffer.from(text).toString("utf8")),
      err: (text) => (err += text),
    });
    return { code, out, err };
  };
  const last = () => server.seen.at(-1);
  return { server, run, directory, last, uuid: server.machine };
}

test("13 objects are printed as JSON with sorted keys and two blanks", async () => {
  const { run, server } = await session();
  server.objects.set("tasks/t", { Name: "t", Meta: { b: "2", a: "1" }, Errors: [], "<": "&" });
  expect(await run(["tasks", "show", "t"])).toEqual({
    code: 0,
    err: "",
    out: '{\n  "<": "&",\n  "Errors": [],\n  "Meta": {\n    "a": "1",\n    "b": "2"\n  },\n  "Name": "t"\n}\n',
  });
  expect((await run(["-F", "yaml", "tasks", "show", "t"])).out).toContain("Name: t\n");
  expect((await run(["tasks", "list", "-F", "text", "-J", "Name"])).out).toBe("NAME\nt\n");
});

test("13 refusals are printed with type, model, key and messages, and exit with 1", async () => {
  const { run, server } = await session();
  expect(await run(["tasks", "show", "nope"])).toEqual({
    code: 1,
    out: "",
    err: "Error: Conflict: tasks/nope: Not Found\n",
  });
  server.refusals.push({ what: "GET tasks", code: 422, messages: ["one", "two"] });
  expect((await run(["tasks", "list"])).err).toBe("Error: Conflict: tasks\n  one\n  two\n");
});

test("13 wrong arguments are refused with the usage, before anything is sent", async () => {
  const { run, server } = await session();
  const { code, err } = await run(["machines", "show"]);
  expect(code).toBe(1);
  expect(err).toMatch(/^Error: drpcli machines show \[id\] \[flags\] requires 1 argument\nUsage:\n/);
  expect((await run(["bogus"])).err).toMatch(/^Error: unknown command "bogus" for "drpcli"\n/);
  expect((await run(["machine"])).err).toContain("Did you mean this?\n\tmachines\n");
  expect((await run(["machines", "show", "x", "--bogus"])).err).toMatch(/^Error: unknown flag: --bogus\n/);
  expect((await run(["machines", "runaction", "x", "cmd", "a", "b", "c"])).err).toContain(
    "runaction either takes three arguments or a multiple of two, not 5",
  );
  expect(server.seen).toEqual([]);
});

test("13 without a verb the verbs are listed", async () => {
  const { run } = await session();
  expect((await run([])).out).toContain("  machines\n");
  const listed = await run(["machines"]);
  expect(listed).toMatchObject({ code: 0, err: "" });
  expect(listed.out).toContain("meta get");
  expect((await run(["machines", "meta", "get", "--help"])).out).toContain("drpcli machines meta get [id] [key]");
});

test("13 an update is a patch with a test before each change; - reads standard input", async () => {
  const { run, server, last, uuid } = await session({ Description: "old", Params: { a: 1 } });
  const updated = await run(["machines", "update", uuid, "-"], "Description: new\nParams:\n  b: [2]\n");
  expect(JSON.parse(updated.out)).toMatchObject({ Description: "new", Params: { a: 1, b: [2] } });
  expect(last()?.body).toEqual([
    { op: "test", path: "/Description", value: "old" },
    { op: "replace", path: "/Description", value: "new" },
    { op: "add", path: "/Params/b", value: [2] },
  ]);
  server.seen.length = 0;
  await run(["machines", "update", uuid, '{"Stage":"x"}', "--force"]);
  expect(last()?.what).toBe(`PATCH machines/${uuid}?force=true`);
});

test("13 params are set, read, added once and removed", async () => {
  const { run, last, uuid } = await session();
  expect((await run(["machines", "set", uuid, "param", "a/b", "to", "-"], '{"x":[1]}')).out).toBe(
    '{\n  "x": [\n    1\n  ]\n}\n',
  );
  expect(last()).toMatchObject({ what: `POST machines/${uuid}/params/a/b`, body: { x: [1] } });
  expect((await run(["machines", "set", uuid, "param", "flag", "to", "true"])).out).toBe("true\n");
  expect(last()?.body).toBe(true);
  await run(["machines", "get", uuid, "param", "flag", "--aggregate"]);
  expect(last()?.what).toBe(`GET machines/${uuid}/params/flag?aggregate=true`);
  expect((await run(["profiles", "get", "p", "param", "none"])).out).toBe("null\n");
});

test("13 with --ref a param is only set if it still has that value", async () => {
  const { run, last, uuid } = await session();
  await run(["-r", "[1]", "machines", "set", uuid, "param", "a/b", "to", "[1, 2]"]);
  expect(last()).toMatchObject({
    what: `PATCH machines/${uuid}/params`,
    body: [
      { op: "test", path: "/a~1b", value: [1] },
      { op: "replace", path: "/a~1b", value: [1, 2] },
    ],
  });
});

test("13 metadata are added, set, read and removed", async () => {
  const { run, server, uuid } = await session({ Meta: { old: "1" } });
  expect((await run(["machines", "meta", "set", uuid, "key", "new", "to", "5"])).out).toBe('"5"\n');
  expect((await run(["machines", "meta", "get", uuid, "new"])).out).toBe('"5"\n');
  expect((await run(["machines", "meta", "add", uuid, "key", "old", "val", "x"])).err).toBe(
    `Error: Key, old, already present on machine ${uuid}\n`,
  );
  expect((await run(["machines", "meta", "remove", uuid, "key", "old"])).code).toBe(0);
  expect(server.machineObject["Meta"]).toEqual({ new: "5" });
  expect((await run(["machines", "meta", "get", uuid, "old"])).err).toBe("Error: No such metadata item old\n");
});

test("13 machines change workflow, stage, Runnable, profiles and tasks", async () => {
  const { run, server, uuid } = await session({ Tasks: ["t1"], CurrentTask: -1 });
  await run(["machines", "workflow", uuid, "next"]);
  await run(["machines", "stage", uuid, "s2"]);
  await run(["machines", "bootenv", uuid, "b2"]);
  await run(["machines", "pause", uuid]);
  await run(["machines", "addprofile", uuid, "p"]);
  await run(["machines", "tasks", "add", uuid, "at", "0", "t0"]);
  await run(["machines", "addtask", uuid, "t2"]);
  expect(server.machineObject).toMatchObject({
    Workflow: "next",
    Stage: "s2",
    BootEnv: "b2",
    Runnable: false,
    Profiles: ["p"],
    Tasks: ["t0", "t1", "t2"],
  });
  await run(["machines", "tasks", "del", uuid, "t1"]);
  await run(["machines", "removeprofile", uuid, "p"]);
  await run(["machines", "removetask", uuid, "t2"]);
  await run(["machines", "inserttask", uuid, "t9"]);
  await run(["machines", "run", uuid]);
  expect(server.machineObject).toMatchObject({ Runnable: true, Profiles: [], Tasks: ["t9", "t0"] });
});

test("13 exists says nothing or that there is none; destroy says what is gone", async () => {
  const { run, server } = await session();
  server.objects.set("profiles/p", { Name: "p" });
  expect(await run(["profiles", "exists", "p"])).toEqual({ code: 0, out: "", err: "" });
  expect(await run(["profiles", "destroy", "p"])).toEqual({ code: 0, out: "Deleted profile p\n", err: "" });
  expect(await run(["profiles", "exists", "p"])).toEqual({
    code: 1,
    out: "",
    err: "Error: profiles:p does not exist\n",
  });
});

test("13 objects are created from a name, JSON or standard input", async () => {
  const { run, last } = await session();
  await run(["profiles", "create", "plain"]);
  expect(last()?.body).toEqual({ Name: "plain" });
  await run(["profiles", "create", "-"], "Name: p2\nParams: {a: 1}\n");
  expect(last()?.body).toEqual({ Name: "p2", Params: { a: 1 } });
  expect((await run(["templates", "create", "x"])).err).toBe("Error: Unable to create a new template by name\n");
});

test("13 count and wait", async () => {
  const { run, server, uuid } = await session({ Stage: "a" });
  expect((await run(["machines", "count"])).out).toBe("1\n");
  expect((await run(["machines", "wait", uuid, "Stage", "a"])).out).toBe("complete\n");
  expect((await run(["machines", "wait", uuid, "Stage", "b", "0"])).out).toBe("timeout\n");
  const waiting = run(["machines", "wait", uuid, "Stage", "b", "60"]);
  await until(() => server.seen.filter(({ what }) => what === `GET machines/${uuid}`).length >= 6);
  server.change(`machines/${uuid}`, { Stage: "b" });
  expect((await waiting).out).toBe("complete\n");
});

test("12 a folder becomes a bundle and a bundle becomes the same folder", async () => {
  const { run, directory } = await session();
  await mkdir(join(directory, "tasks"));
  await mkdir(join(directory, "templates"));
  await mkdir(join(directory, "ignored"));
  await writeFile(join(directory, "._Name.meta"), "mine\n");
  await writeFile(join(directory, "tasks", "a.yaml"), "Name: a\nTemplates: []\n");
  await writeFile(join(directory, "tasks", "b.json"), '{"Name":"b"}');
  await writeFile(join(directory, "templates", "setup.tmpl"), "echo {{.Machine.Name}}\n");
  expect(await run(["contents", "bundle", "out.yaml", "Version=v1.2.0"])).toMatchObject({ code: 0, err: "" });
  const text = await readFile(join(directory, "out.yaml"), "utf8");
  expect(text).toContain("Version: v1.2.0");
  await mkdir(join(directory, "again"));
  const again = join(directory, "again");
  const { bundleOf, readDocument, unbundle } = await import("./bundle.ts");
  const content = readDocument(text, "out.yaml");
  expect(content).toEqual({
    meta: { Name: "mine", Version: "v1.2.0", Type: "dynamic" },
    sections: {
      tasks: { a: { Name: "a", Templates: [] }, b: { Name: "b" } },
      templates: { "setup.tmpl": { ID: "setup.tmpl", Contents: "echo {{.Machine.Name}}\n" } },
    },
  });
  await unbundle(content, again, false);
  expect(await bundleOf(again, {})).toEqual(content);
});

test("12 null members are left out of a bundle, and labels become strings", async () => {
  const { directory } = await session();
  await mkdir(join(directory, "tasks"));
  const task = "Name: a\nRequiredParams:\nMeta: {clipboard: true, order: 2}\nTemplates: [{Name: b, Meta: {x: true}}]\n";
  await writeFile(join(directory, "tasks", "a.yaml"), task);
  const { bundleOf } = await import("./bundle.ts");
  expect((await bundleOf(directory, {}))["sections"]).toEqual({
    tasks: {
      a: { Name: "a", Meta: { clipboard: "true", order: "2" }, Templates: [{ Name: "b", Meta: { x: "true" } }] },
    },
  });
});

test("12 objects that cannot be read are named", async () => {
  const { run, directory } = await session();
  await mkdir(join(directory, "tasks"));
  await writeFile(join(directory, "tasks", "a.yaml"), "Name: [\n");
  expect((await run(["contents", "bundle", "out.yaml"])).err).toMatch(
    /^Error: Cannot parse item tasks\/a\.yaml:\d+:\d+: /,
  );
  await writeFile(join(directory, "tasks", "a.yaml"), "Description: x\n");
  expect((await run(["contents", "bundle", "out.yaml"])).err).toBe("Error: tasks/a.yaml has no Name\n");
  expect((await run(["contents", "bundle", "out.txt"])).err).toContain("Error: ");
});

test("13 gohai describes this machine, and version the release that is followed", async () => {
  const { run } = await session();
  const facts: unknown = JSON.parse((await run(["gohai"])).out);
  expect(isJsonObject(facts) && Object.keys(facts)).toEqual(["DMI", "Networking", "Storage", "System"]);
  expect((await run(["version"])).out).toBe("Version: v4.8.0\n");
});

test("13 a server that is not there is an error of the session", async () => {
  const { run, server } = await session();
  await server.close();
  const failed = await run(["machines", "list"], "", { RS_TOKEN: "", RS_KEY: "a:b" });
  expect(failed.err).toMatch(/^Error: Error creating Session: https:\/\/127\.0\.0\.1:\d+: .*ECONNREFUSED/);
  await server.listen();
});

test("13 jobs: the log is printed as it is, and a job's machine is found by name", async () => {
  const { run, last, uuid } = await session();
  await run(["jobs", "log", "j", "some text"]);
  expect(last()).toMatchObject({ what: "PUT jobs/j/log", body: "some text" });
  expect((await run(["machines", "currentlog", uuid])).err).toBe(`Error: No current job on machine ${uuid}\n`);
});
