import { execFileSync } from "node:child_process";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type CommandLine, commandLine } from "#test/support/command-line.ts";

let line: CommandLine;
const definition = `inputs:
  - {name: version, type: string, default: "1.0"}
  - {name: pw, type: password, default: hunter2}
environments: {e: {version: other}}
stage:
  step:
    container: {image: "x:\${version}", cmds: ["echo \${pw} \${HOME} \${%HOME%}"]}
`;

beforeAll(async () => {
  line = await commandLine({ variables: { PATH: process.env["PATH"] ?? "", WHARF_VAR_version: "third" } });
  await mkdir(join(line.directory, "p"));
  await writeFile(join(line.directory, "p/.wharf-ci.yml"), definition);
  await writeFile(join(line.directory, "text"), "v${version} ${pw}\r\nend");
});
afterAll(() => line.close());

test("variables are listed by source, those that are overridden on demand, passwords never", async () => {
  const short = await line.run("wharf", "vars", "list", "p");
  expect(short.code).toBe(0);
  expect(short.out).toBe(
    "input defaults:\n  version  1.0\n  pw       ***\nnot set, left as written:\n  HOME     line 7, column 47\n",
  );
  const all = await line.run("wharf", "vars", "list", "p", "-a", "-e", "e", "-i", "version=a=b");
  expect(all.out).toBe(
    [
      "input values:\n  version  a=b\n",
      "input defaults:\n  version  1.0    (overridden)\n  pw       ***\n",
      "environment:\n  version  other  (overridden)\n",
      "process environment:\n  version  third  (overridden)\n",
      "not set, left as written:\n  HOME     line 7, column 47\n",
    ].join(""),
  );
  const data = JSON.parse((await line.run("wharf", "vars", "list", "p", "-o", "json")).out) as unknown[];
  expect(data).toMatchObject([
    {
      name: "version",
      source: "input defaults",
      type: "string",
      value: "1.0",
      overridden: false,
      definedAt: { line: 2 },
    },
    { name: "pw", value: "***" },
    { name: "version", source: "process environment", overridden: true },
    { name: "HOME", source: "none", usedAt: [{ line: 7, column: 47 }] },
  ]);
});

test("passwords come from files, which nothing else does", async () => {
  await writeFile(join(line.directory, "secret"), "of a file\r\n");
  const given = ["-i", "pw=@secret", "-i", "version=@secret"];
  const { code, out } = await line.run("wharf", "vars", "list", "p", ...given, "-o", "json");
  expect(code).toBe(0);
  expect(JSON.parse(out)).toMatchObject([
    { name: "version", value: "@secret" },
    { name: "pw", value: "***" },
    {},
    {},
    {},
    {},
  ]);
  const sub = await line.run("wharf", "vars", "list", "p", "-i", "pw=@nowhere");
  expect(sub.code).toBe(1);
  expect(sub.err).toMatch(/error: inputs: input "pw": cannot read its file: ENOENT.*nowhere/);
});

test("stages that are not selected are not what is asked about", async () => {
  await writeFile(
    join(line.directory, "p/two.yml"),
    "a: {b: {docker: {file: f, tag: t}}}\nc: {d: {container: {image: x, cmds: [y]}}}\n",
  );
  expect((await line.run("wharf", "lint", "--file", "p/two.yml")).code).toBe(1);
  const only = await line.run("wharf", "lint", "--file", "p/two.yml", "--stage", "c");
  expect(only.code).toBe(0);
  expect(only.out).toMatch(/two\.yml:\d+:\d+: warning: /);
});

test("the definition is printed with its variables, and none of its passwords", async () => {
  const { code, out } = await line.run("wharf", "vars", "yml", "p", "-i", "version=2");
  expect(code).toBe(0);
  expect(out).toContain("image: x:2\n");
  expect(out).toContain("echo *** ${HOME} ${HOME}");
  expect(out).not.toContain("hunter2");
  expect(JSON.parse((await line.run("wharf", "vars", "yml", "p", "-o", "json")).out)).toMatchObject({
    stage: { step: { container: { image: "x:1.0" } } },
  });
});

test("a text is printed with the variables, and with its line ends", async () => {
  expect(await line.run("wharf", "vars", "sub", "text", "--file", "p/.wharf-ci.yml")).toMatchObject({
    code: 0,
    out: "v1.0 ***\r\nend",
  });
});

test("problems are data of lint, and told beside the data of the others", async () => {
  await writeFile(join(line.directory, "p/bad.yml"), "a: {b: {kubectl: {fil: x}}}\n");
  const lint = await line.run("wharf", "lint", "--file", "p/bad.yml");
  expect(lint.code).toBe(1);
  expect(lint.out).toContain(
    'p/bad.yml:1:9: error: a/b/kubectl/file: one of the fields "file" and "files" is required\n' +
      'p/bad.yml:1:19: warning: a/b/kubectl/fil: there is no such field; it is ignored (did you mean "file"?)\n',
  );
  const data = JSON.parse((await line.run("wharf", "lint", "--file", "p/bad.yml", "-o", "json")).out) as unknown[];
  expect(data).toEqual(
    expect.arrayContaining([expect.objectContaining({ code: "field-required", path: "a/b/kubectl/file" })]),
  );
  const yml = await line.run("wharf", "vars", "yml", "--file", "p/bad.yml");
  expect(yml).toMatchObject({ code: 1, out: "a:\n  b:\n    kubectl:\n      fil: x\n" });
  expect(yml.err).toContain("bad.yml:1:9: error: a/b/kubectl/file: ");
});

test("what is not there is named, with what to do", async () => {
  const missing = await line.run("wharf", "lint");
  expect(missing).toMatchObject({ code: 1, out: "" });
  expect(missing.err).toContain(`there is no ${join(line.directory, ".wharf-ci.yml")}`);
  expect((await line.run("wharf", "lint", "text")).err).toContain("give it with --file text");
  expect(await line.run("wharf", "vars")).toMatchObject({ code: 2 });
  expect((await line.run("wharf", "vars", "lst")).err).toContain("did you mean list?");
  expect((await line.run("wharf", "vars", "list", "p", "-i", "verison=1")).err).toContain('did you mean "version"?');
});

test.each([
  ["--max-parallel", "0", "--max-parallel: expected 1 or more"],
  ["--timeout", "0s", "--timeout: expected a duration above 0"],
  ["--grace", "xx", "--grace: "],
])("wrong bounds of a build are refused as its worker does: %s %s", async (flag, value, message) => {
  const { code, out, err } = await line.run("run", "p", "--runtime", "host", flag, value);
  expect([code, out]).toEqual([1, ""]);
  expect(err).toContain(`slipway: ${message}`);
});

test("inputs do not come from a pipe, which nothing could end, nor from a file without end", async () => {
  execFileSync("mkfifo", [join(line.directory, "pipe")]);
  await writeFile(join(line.directory, "large"), "x".repeat(1024 * 1024 + 1));
  const given = (path: string) => line.run("run", "p", "--runtime", "host", "--input-file", path);
  expect(await given("pipe")).toEqual({ code: 1, out: "", err: "slipway: --input-file pipe: it is no file\n" });
  expect(await given("large")).toMatchObject({ code: 1, err: expect.stringContaining("larger than 1 MiB") as string });
});

test("a directory without documents has no definition either, and the nearest one is told", async () => {
  await mkdir(join(line.directory, "p/empty"));
  const { code, err } = await line.run("run", "p/empty");
  expect(code).toBe(2);
  expect(err).toBe(
    `slipway: p/empty contains no .yaml, .yml or .json file, nor .wharf-ci.yml\ndid you mean ${join(line.directory, "p")}?\n`,
  );
});

test.each([
  [["lint", "p", "--keep"], "--keep", "wharf lint"],
  [["vars", "yml", "p", "--all"], "--all", "wharf vars yml"],
  [["vars", "sub", "text", "-o", "json"], "-o", "wharf vars sub"],
  [["run", "p", "--shard", "1/2"], "--shard", "wharf run"],
  [["shell", "1/1", "--stage", "a"], "--stage", "wharf shell"],
  [["provisioner", "list", "--force"], "--force", "wharf provisioner list"],
  [["provisioner", "serve", "--wharf-engine-url", "http://e"], "--wharf-engine-url", "wharf provisioner serve"],
  [["api", "serve", "--wharf-drain", "1s"], "--wharf-drain", "wharf api serve"],
  [["watchdog", "serve", "--max-workers", "1"], "--max-workers", "wharf watchdog serve"],
])("an option of another verb is refused, with the help of the own one: %j", async (words, option, verb) => {
  const { code, out, err } = await line.run("wharf", ...words);
  expect([code, out]).toEqual([2, ""]);
  expect(err).toContain(`error: unknown option '${option}'`);
  expect(err).toContain(`See 'slipway ${verb} --help'.\n`);
});

test("a word that is no verb is refused with what may be meant, at every place", async () => {
  expect(await line.run("wharf", "lnit")).toMatchObject({
    code: 2,
    err: expect.stringContaining("did you mean lint?"),
  });
  const deeper = await line.run("wharf", "provisioner", "lists");
  expect(deeper).toMatchObject({ code: 2, err: expect.stringContaining("did you mean list?") });
});

test.each([
  [["run", "--ui"], "--ui is for documents, and this is a build"],
  [["wharf", "run", "--ui"], "error: unknown option '--ui'"],
])("a build has no page in the web UI: %j", async (words, message) => {
  const { code, out, err } = await line.run(...words, "p");
  expect([code, out]).toEqual([2, ""]);
  expect(err).toContain(message);
});
