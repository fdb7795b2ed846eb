import { existsSync, readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { readSource, root, sourceFiles } from "./sources.ts";

/** How a dialect is named; a common word of the field, such as "workflow", is no name, and imports show who knows that dialect. */
const namesOf: Readonly<Record<string, RegExp | undefined>> = {
  rebar: /digital ?rebar|\brebar\b|drpcli/i,
  tinkerbell: /tinkerbell|\btink/i,
  // Import paths of CUE packages (`vela/op`) are words of the language.
  vela: /kubevela|\bvela\b(?!\/)/i,
  wharf: /wharf/i,
  workflow: undefined,
};

/** Sources that may name dialects, and why. */
const mayName: Readonly<Record<string, string>> = {
  "src/dialects/index.ts": "it lists them",
  "src/kernel/rpc/index.ts": "it exports the generated messages of their protocols",
  "src/dialects/workflow/completion.ts": "steps create objects of API groups that other projects own",
};

/** What every dialect has, as a file or a folder. */
const shape = ["kinds", "document", "state", "view", "messages", "controller", "commands", "options", "services"];

/** What a dialect lacks, and why; its README says so, too. */
const lacks: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  vela: { state: "the state of a run is in workflow/", services: "it opens no ports" },
  wharf: { messages: "a message stands where its problem is found" },
  workflow: {
    commands: "its verbs are those of all dialects",
    options: "what it takes from a user is in the document",
    services: "it opens no ports",
  },
};

const folders = readdirSync(`${root}src/dialects`, { withFileTypes: true }).flatMap((entry) =>
  entry.isDirectory() ? entry.name : [],
);
const isTest = (path: string) => /\.(?:test|contract)\.ts$/.test(path) || path.includes("/testing/");
const sources = sourceFiles("src").filter((path) => !isTest(path) && !path.startsWith("src/kernel/rpc/gen/"));

test("every dialect has an entry here", () => {
  expect(Object.keys(namesOf).sort()).toEqual(folders.sort());
});

test.each(folders)("nothing outside of its folder names %s", (folder) => {
  const name = namesOf[folder];
  const found = sources
    .filter((path) => !path.startsWith(`src/dialects/${folder}/`) && mayName[path] === undefined)
    .flatMap((path) => {
      const lines = readFileSync(`${root}${path}`, "utf8").split("\n");
      return lines.flatMap((line, at) => {
        const isImport = line.includes(`dialects/${folder}/`);
        return isImport || name?.test(line) === true ? [`${path}:${at + 1}: ${line.trim()}`] : [];
      });
    });
  expect(found).toEqual([]);
});

test("the sources that may name dialects exist and do", () => {
  const silent = Object.keys(mayName).filter(
    (path) => !/wharf|tinkerbell/i.test(existsSync(`${root}${path}`) ? readFileSync(`${root}${path}`, "utf8") : ""),
  );
  expect(silent).toEqual([]);
});

test.each(folders)("%s has the shape of a dialect", (folder) => {
  const at = `${root}src/dialects/${folder}/`;
  const readme = readFileSync(`${at}README.md`, "utf8");
  const missing = shape.filter((part) => !existsSync(`${at}${part}.ts`) && !existsSync(`${at}${part}`));
  expect(missing).toEqual(shape.filter((part) => lacks[folder]?.[part] !== undefined));
  expect(missing.filter((part) => !readme.includes(`\`${part}.ts\``))).toEqual([]);
  const { program } = readSource(`src/dialects/${folder}/index.ts`);
  const exported = program.body.flatMap((node) => (node.type === "ExportNamedDeclaration" ? [node] : []));
  expect(exported).toHaveLength(1);
});
