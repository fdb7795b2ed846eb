import { existsSync, readFileSync } from "node:fs";
import { readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { writeKubeconfig } from "#kernel/apiserver/index.ts";
import { startTestServer } from "#kernel/apiserver/testing/index.ts";
import { type Block, blocksOf, commandsOf, isAsShown } from "#test/support/markdown.ts";
import { openPageShell, type PageShell } from "#test/support/page-shell.ts";
import { removeDirectory, root, slipway, temporaryDirectory } from "#test/support/slipway.ts";

const { nodeFolder, nodeVersions } = (await import(join(root, "scripts/node-versions.mjs"))) as {
  readonly nodeFolder: (version: string) => string;
  readonly nodeVersions: readonly string[];
};

const readme = readFileSync(join(root, "README.md"), "utf8");
const guides = (await readdir(join(root, "docs/guides"))).map((guide) => `docs/guides/${guide}`);
const pages = ["README.md", ...guides];
const blocks = pages.flatMap(blocksOf);
const titleOf = ({ page, line }: Block) => `${page}:${line}`;

/** Blocks that a test cannot paste: the first would replace what this test runs from, the other needs an image registry. */
const apart = (block: Block) => block.text.includes("npm ci") || block.text.includes("docker build");

let shell: PageShell | undefined;
let close: (() => Promise<void>) | undefined;
afterEach(async () => {
  await shell?.close();
  await close?.();
  [shell, close] = [undefined, undefined];
});

/** The cluster that a page speaks of: a Kubernetes API without our kinds and controllers, and its kubeconfig where the page expects it. */
async function bringCluster(to: PageShell): Promise<void> {
  const cluster = await startTestServer();
  close = () => cluster.close();
  const { url, ca: caPem, token } = cluster;
  await writeKubeconfig(join(to.clone, "cluster.kubeconfig"), { url, caPem, token });
  await to.bringIn(Number(new URL(url).port));
}

/** The versions of Node.js other than this one's, of which a reader may have any. */
const otherVersions = nodeVersions.filter((version) => version.split(".")[0] !== process.versions.node.split(".")[0]);
/** The pages that a reader begins with are pasted on each version. */
const firstPages = ["README.md", "docs/guides/workflow.md"];
const hasShell = (page: string) => blocksOf(page).some(({ language }) => language === "sh");
const pasted = [
  ...pages.filter(hasShell).map((page) => ({ page, version: process.versions.node, node: undefined })),
  ...firstPages.flatMap((page) =>
    otherVersions.map((version) => ({ page, version, node: join(nodeFolder(version), "node") })),
  ),
];

describe("a page that is pasted into a shell does what it says", () => {
  test.each(pasted)(
    "$page, Node.js $version",
    async ({ page, version, node }) => {
      if (node !== undefined && !existsSync(node))
        throw new Error(`${node} is missing; run: node scripts/node-versions.mjs`);
      shell = await openPageShell(node);
      expect(await shell.paste("node --version")).toBe(`v${version}\n`);
      const ofPage = blocksOf(page);
      if (ofPage.some(({ language, text }) => language === "sh" && text.includes("cluster.kubeconfig")))
        await bringCluster(shell);
      for (const [index, block] of ofPage.entries()) {
        if (block.language !== "sh" || apart(block)) continue;
        const out = await shell.paste(block.text);
        expect(out, titleOf(block)).not.toMatch(/^\[exit status|\berror:/im);
        const shown = ofPage[index + 1];
        if (shown?.language !== "output") continue;
        if (!isAsShown(shown.text, out)) expect(out, `what ${titleOf(block)} prints`).toBe(shown.text);
      }
    },
    300_000,
  );
});

test("what looks like a shell's is pasted: no block has another name for the language, and no output is left alone", () => {
  expect(blocks.filter(({ language }) => ["bash", "shell", "console", "text", ""].includes(language))).toEqual([]);
  for (const page of pages)
    for (const [index, { language }] of blocksOf(page).entries())
      if (language === "output") expect(blocksOf(page)[index - 1]?.language).toBe("sh");
  expect(blocks.filter((block) => block.language === "sh" && apart(block)).flatMap(commandsOf)).toEqual([
    "npm ci && npm run demo",
    "npm ci && npm test",
    "npm run build && npm pack",
    expect.stringMatching(/^docker build .*--file images\/worker\/Dockerfile \.$/),
  ]);
});

// What the two commands need is looked at instead of installing it again; the demo runs in platforms.test.ts.
test("the two commands: their scripts exist, and the lock file fits", () => {
  const read = (path: string) => JSON.parse(readFileSync(join(root, path), "utf8")) as Record<string, object>;
  const { scripts, dependencies, devDependencies } = read("package.json");
  expect(scripts).toMatchObject({ demo: "node scripts/demo.mjs", test: "node scripts/test.mjs" });
  expect(read("package-lock.json")["packages"]).toMatchObject({ "": { dependencies, devDependencies } });
});

test.each(guides)("the README links %s", (guide) => {
  expect(readme).toContain(`(${guide})`);
});

/** Objects; settings are read by what they are for. */
const objects = blocks.filter(({ language, text }) => language === "yaml" && /^apiVersion:/m.test(text));

test("the objects in pages pass lint without an error", async () => {
  const home = await temporaryDirectory();
  const files = objects.map(({ page, line }) => join(home, `${page.replaceAll("/", "-")}-line-${line}.yaml`));
  for (const [at, { text }] of objects.entries()) await writeFile(files[at] ?? "", text);
  const { code, out, err } = await slipway(["lint", ...files]);
  await removeDirectory(home);
  expect(code, out).toBe(0);
  const documents = Number(/^(\d+) documents, 0 errors/m.exec(err)?.[1]);
  expect(documents).toBeGreaterThanOrEqual(files.length);
});
