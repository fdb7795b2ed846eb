import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { systemClock } from "#lib/base/index.ts";
import { readTar } from "#kernel/artifacts/index.ts";
import type { RepositoryEntry } from "../../repository/entry.ts";
import { endOfArchive, headerOf, paddingOf } from "../../repository/tar-format.ts";
import { shellStep } from "../testing/step-job.ts";
import { buildContext, readDockerIgnore } from "./build-context.ts";
import { buildRequestOf } from "./build-request.ts";
import { machineLogins } from "./machine-logins.ts";

test.each([
  ["*.log", ["a.log"], ["d/a.log", "a.logs"]],
  ["**/*.log", ["a.log", "d/a.log", "d/e/a.log"], ["a.txt"]],
  ["/d/", ["d", "d/a", "d/e/b"], ["e/d"]],
  ["./a/../b", ["b"], ["a"]],
  ["**/node_modules", ["node_modules/x", "d/node_modules/y"], ["node_modules2"]],
  ["d/**", ["d/a", "d/e/f"], ["d", "e"]],
  ["a?c\n[x-z]1\n[^a]2", ["abc", "y1", "b2"], ["a/c", "w1", "a2"]],
  ["*\n!d\n!*.md\nd/secret", ["a", "d/secret"], ["d", "d/a", "x.md"]],
  ["# not this\n\n !  \n\\#this\na.b", ["#this", "a.b"], ["# not this", "axb"]],
  ["[unended", [], ["[unended"]],
])("%j leaves out %j and not %j", (text, out, kept) => {
  const ignores = readDockerIgnore(text);
  expect([...out, ...kept].filter(ignores)).toEqual(out);
});

test("the options of a step are read as what is to be built", () => {
  const args = ["--dockerfile", "/mnt/repo/d/Dockerfile", "--context", "/mnt/repo", "--skip-tls-verify", "--insecure"];
  const more = ["--build-arg", "A=b=c", "--destination", "r/i:1", "--destination", "r/i:2", "--build-arg", "SECRET"];
  const step = { ...shellStep(""), args: [...args, ...more] };
  expect(buildRequestOf(step, { SECRET: "s", OTHER: "o" })).toEqual({
    context: ".",
    dockerfile: "d/Dockerfile",
    destinations: ["r/i:1", "r/i:2"],
    isPushed: true,
    args: { A: "b=c", SECRET: "s" },
  });
  expect(buildRequestOf({ ...step, args: ["--no-push"] }, {})).toMatchObject({
    isPushed: false,
    dockerfile: "Dockerfile",
  });
});

describe("the directory of a build", () => {
  /** As that of a repository; what stands there twice is different for the step. */
  const archive = (texts: readonly (readonly [string, string])[]) =>
    async function* () {
      for (const [path, text] of texts) {
        const isFolder = path.endsWith("/");
        const bytes = Buffer.from(text);
        const kind = isFolder ? "directory" : "file";
        const entry: RepositoryEntry = {
          path: path.replace(/\/$/, ""),
          kind,
          mode: 0o755,
          modified: 0,
          size: bytes.length,
        };
        yield await Promise.resolve(Buffer.concat([headerOf(entry), bytes, paddingOf(bytes.length)]));
      }
      yield endOfArchive;
    };
  const request = { destinations: [], isPushed: false, args: {} };
  async function contextOf(texts: readonly (readonly [string, string])[], context: string, dockerfile: string) {
    const made = await buildContext(archive(texts), { ...request, context, dockerfile }, (text) => `${text}#changed\n`);
    const files = new Map<string, string>();
    for await (const { path, type, body } of readTar(made.tar)) {
      const chunks: Buffer[] = [];
      for await (const chunk of body) chunks.push(chunk);
      if (type === "file") files.set(path, Buffer.concat(chunks).toString());
    }
    return { dockerfile: made.dockerfile, files };
  }

  test("is all of the repository but what is ignored; the Dockerfile is the step's own", async () => {
    const texts = [
      ["Dockerfile", "FROM a\n"],
      ["d/", ""],
      ["d/x.log", "x"],
      ["d/y", "y"],
      [".dockerignore", "**/*.log\n*file"],
      ["Dockerfile", "FROM b\n"],
    ] as const;
    const { dockerfile, files } = await contextOf(texts, ".", "Dockerfile");
    expect(dockerfile).toBe("Dockerfile");
    expect(Object.fromEntries(files)).toEqual({
      ".dockerignore": "**/*.log\n*file",
      Dockerfile: "FROM b\n#changed\n",
      "d/y": "y",
    });
  });

  test("is a part of it, with a Dockerfile from elsewhere that nobody copies, and ignores what that one says", async () => {
    const texts = [
      ["docker/app", "FROM a\n"],
      ["docker/app.dockerignore", "y\n"],
      ["d/.dockerignore", "x\n"],
      ["d/x", "x"],
      ["d/y", "y"],
      ["dd/z", "z"],
    ] as const;
    const { dockerfile, files } = await contextOf(texts, "d", "docker/app");
    expect(dockerfile).toMatch(/^\.dockerfile\.[0-9a-f]{16}$/);
    expect(Object.fromEntries(files)).toEqual({
      x: "x",
      [dockerfile]: "FROM a\n#changed\n",
      ".dockerignore": `y\n\n${dockerfile}\n.dockerignore\n`,
    });
  });

  test("cannot be made without a Dockerfile", async () => {
    await expect(contextOf([["a", "b"]], ".", "Dockerfile")).rejects.toMatchObject({ reason: "ImageBuild" });
  });
});

describe("logins of the machine", () => {
  let directory: string;
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), "slipway-logins-"));
  });
  afterEach(() => rm(directory, { recursive: true }));

  const loginsOf = async (config: object, image: string) => {
    await writeFile(join(directory, "config.json"), JSON.stringify(config));
    const variables: Readonly<Record<string, string>> = {
      DOCKER_CONFIG: directory,
      PATH: `${directory}:/usr/bin:/bin`,
    };
    return machineLogins({ variable: (name) => variables[name], home: directory, clock: systemClock })(image);
  };
  const auth = Buffer.from("me:pass").toString("base64");

  test("are those of the user's file for the registry of an image", async () => {
    const config = { auths: { "r.example": { auth }, "https://index.docker.io/v1/": { auth } } };
    expect(await loginsOf(config, "r.example/a:1")).toEqual([
      { server: "r.example", username: "me", password: "pass" },
    ]);
    expect(await loginsOf(config, "busybox")).toMatchObject([{ server: "https://index.docker.io/v1/" }]);
    expect(await loginsOf(config, "other.example/a")).toEqual([]);
  });

  test("are asked of the program that keeps them", async () => {
    const script = `#!/bin/sh\nread server\necho "{\\"Username\\":\\"$1\\",\\"Secret\\":\\"$server\\"}"\n`;
    await writeFile(join(directory, "docker-credential-test"), script, { mode: 0o755 });
    expect(await loginsOf({ credsStore: "test" }, "r.example/a")).toEqual([
      { server: "r.example", username: "get", password: "r.example" },
    ]);
    expect(await loginsOf({ credsStore: "gone", credHelpers: { "r.example": "test" } }, "r.example/a")).toHaveLength(1);
    expect(await loginsOf({ credsStore: "gone" }, "r.example/a")).toEqual([]);
    expect(await loginsOf({ credsStore: "../../evil" }, "r.example/a")).toEqual([]);
  });

  test("are asked of a program that leaves another one running with its output open, too", async () => {
    const left = join(directory, "left");
    const script = `#!/bin/sh\nsleep 3600 &\necho $! > ${left}\necho '{"Username":"me","Secret":"s"}'\n`;
    await writeFile(join(directory, "docker-credential-test"), script, { mode: 0o755 });
    const logins = await loginsOf({ credsStore: "test" }, "r.example/a");
    process.kill(Number(await readFile(left, "utf8")), "SIGKILL");
    expect(logins).toMatchObject([{ username: "me", password: "s" }]);
  });

  test("are none where there is no file, or one that is none", async () => {
    expect(await machineLogins({ variable: () => undefined, home: directory, clock: systemClock })("a")).toEqual([]);
    await writeFile(join(directory, "config.json"), "{");
    expect(await machineLogins({ variable: () => directory, home: "/", clock: systemClock })("a")).toEqual([]);
  });
});
