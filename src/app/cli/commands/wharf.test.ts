import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type CommandLine, commandLine } from "../testing/command-line.ts";

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
  expect(short.out).toBe("input defaults:\n  version  1.0\n  pw       ***\n");
  const all = await line.run("wharf", "vars", "list", "p", "-a", "-e", "e", "-i", "version=a=b");
  expect(all.out).toBe(
    [
      "input values:\n  version  a=b\n",
      "input defaults:\n  version  1.0    (overridden)\n  pw       ***\n",
      "environment:\n  version  other  (overridden)\n",
      "process environment:\n  version  third  (overridden)\n",
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
  ]);
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
    'p/bad.yml:1:9: error[field-required] a/b/kubectl/file: one of the fields "file" and "files" is required\n' +
      'p/bad.yml:1:19: warning[field-unknown] a/b/kubectl/fil: there is no such field; it is ignored (did you mean "file"?)\n',
  );
  const data = JSON.parse((await line.run("wharf", "lint", "--file", "p/bad.yml", "-o", "json")).out) as unknown[];
  expect(data).toEqual(
    expect.arrayContaining([expect.objectContaining({ code: "field-required", path: "a/b/kubectl/file" })]),
  );
  const yml = await line.run("wharf", "vars", "yml", "--file", "p/bad.yml");
  expect(yml).toMatchObject({ code: 1, out: "a:\n  b:\n    kubectl:\n      fil: x\n" });
  expect(yml.err).toContain("error[field-required]");
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
