import { chmod, mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { fileVariables } from "../testing/prepared.ts";
import { createSubstituter } from "../variables/substitute.ts";
import { resolveVariables } from "../variables/variable.ts";
import { readOverlay, substituteBytes } from "./overlay.ts";
import { newDirectory, writeFiles } from "./testing/projects.ts";

const variables = { NAME: "web", ä: "ö", LOOP: "${LOOP}", BIG: "x".repeat(1024 * 1024) };
const substituter = createSubstituter(resolveVariables(fileVariables(variables)));
const substituted = (text: string, encoding: BufferEncoding = "utf8"): string =>
  substituteBytes(Buffer.from(text, encoding), substituter, "file").toString(encoding);

describe("variables in a file", () => {
  test.each([
    ["name: ${NAME}\r\nnext: ${ NAME }", "name: web\r\nnext: web"],
    ["\uFEFFa: ${ä}\n\n", "\uFEFFa: ö\n\n"],
    ["${HOME} ${%NAME%} ${} $NAME ${NAME", "${HOME} ${NAME} ${} $NAME ${NAME"],
    ["", ""],
  ])("%j becomes %j", (text, expected) => {
    expect(substituted(text)).toBe(expected);
  });

  test("leave all other bytes as they are, be they UTF-8 or not", () => {
    expect(substituted("\xff\xfe${NAME}\xe4${\xff}${\xe4}", "latin1")).toBe("\xff\xfeweb\xe4${\xff}${\xe4}");
  });

  test("are left alone in what is no text", () => {
    expect(substituted("a\0${NAME}")).toBe("a\0${NAME}");
    const late = `${" ".repeat(8 * 1024)}\0`;
    expect(substituted(`${late}\${NAME}`)).toBe(`${late}web`);
  });

  test("that contain themselves, or each other too often, are errors that name the file", () => {
    expect(() => substituted("${LOOP}")).toThrow("file: the variable contains itself: LOOP -> LOOP");
    expect(() => substituted("${BIG}".repeat(65))).toThrow("file: variables make it larger than 64 MiB");
  });
});

describe("files that are different for a step", () => {
  let project: string;
  beforeEach(async () => {
    project = await newDirectory();
  });
  afterEach(() => rm(project, { recursive: true }));
  const read = (...paths: readonly string[]) =>
    readOverlay(
      paths.map((path) => ({ path, change: "substitute" })),
      project,
      substituter,
    );

  test("are read with their variables and modes, and appended to", async () => {
    await writeFiles(project, { "k8s/web.yml": "n: ${NAME}\n", Dockerfile: "FROM ${NAME}" });
    await chmod(join(project, "k8s/web.yml"), 0o640);
    expect(await read("./k8s/../k8s/web.yml")).toEqual([
      { path: "k8s/web.yml", bytes: Buffer.from("n: web\n"), mode: 0o640 },
    ]);
    const appended = await readOverlay(
      [{ path: "Dockerfile", change: "append", text: "\nRUN x\n" }],
      project,
      substituter,
    );
    expect(appended.map(({ bytes }) => bytes.toString())).toEqual(["FROM ${NAME}\nRUN x\n"]);
  });

  test("are where links that stay inside lead, once", async () => {
    await writeFiles(project, { "v2/web.yml": "${NAME}", current: "-> v2", "other.yml": "-> current/web.yml" });
    const files = await read("current/web.yml", "other.yml", "v2/web.yml");
    expect(files.map(({ path, bytes }) => [path, bytes.toString()])).toEqual([["v2/web.yml", "web"]]);
  });

  test("must not be elsewhere, neither by dots nor by links, nor be reached by a link past the copy", async () => {
    await mkdir(join(project, "in"));
    await writeFiles(project, {
      "in/a": "",
      out: "-> /etc/passwd",
      up: "-> ../..",
      around: `-> ${join(project, "in")}`,
    });
    for (const path of ["out", "../x/../../etc/passwd", "up/etc/passwd"])
      await expect(read(path)).rejects.toMatchObject({ code: expect.stringMatching(/^(path-escape|overlay-file)$/) });
    await expect(read("out")).rejects.toThrow('"out" is outside the project directory');
    await expect(read("around/a")).rejects.toThrow('"around/a" leads through an absolute link');
  });

  test("must be files that are there", async () => {
    await mkdir(join(project, "directory"));
    await expect(read("nothing.yml")).rejects.toThrow(`there is no file nothing.yml in ${project}`);
    await expect(read("directory")).rejects.toThrow("expected a file at directory, found something else");
  });
});
