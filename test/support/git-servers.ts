import { execFileSync, spawn, spawnSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { userInfo } from "node:os";
import { freePort } from "./free-port.ts";

/** Git as if nobody had ever set it up. */
export const plainGit = (home: string): Record<string, string> => ({
  PATH: process.env["PATH"] ?? "",
  HOME: home,
  GIT_CONFIG_NOSYSTEM: "1",
  GIT_AUTHOR_NAME: "a",
  GIT_AUTHOR_EMAIL: "a@example.org",
  GIT_COMMITTER_NAME: "a",
  GIT_COMMITTER_EMAIL: "a@example.org",
});

/** Runs `git` in a directory; answers what it prints. */
export const git = (directory: string, ...words: readonly string[]): string =>
  execFileSync("git", words, { cwd: directory, env: plainGit(directory), encoding: "utf8" }).trim();

/** A bare repository at `{root}/{name}` with the files as its only commit, on the branch main. Answers the commit. */
export function bareRepository(root: string, name: string, files: Readonly<Record<string, string>>): string {
  const work = `${root}/${name}.work`;
  mkdirSync(work, { recursive: true });
  git(work, "init", "-q", "-b", "main");
  commitFiles(work, files, "first");
  git(root, "clone", "-q", "--bare", work, `${root}/${name}`);
  return git(work, "rev-parse", "HEAD");
}

/** Adds a commit to a work tree of `bareRepository`. */
export function commitFiles(work: string, files: Readonly<Record<string, string>>, message: string): string {
  for (const [path, text] of Object.entries(files)) {
    if (path.includes("/")) mkdirSync(`${work}/${path.slice(0, path.lastIndexOf("/"))}`, { recursive: true });
    writeFileSync(`${work}/${path}`, text);
  }
  git(work, "add", "-A");
  git(work, "commit", "-q", "-m", message);
  return git(work, "rev-parse", "HEAD");
}

/** Something that listens and is closed. */
export interface GitServer {
  readonly port: number;
  /** How many requests there were. */
  readonly requests: () => number;
  readonly close: () => Promise<void>;
}

/** Serves repositories over HTTP by Git's own program, to those who give the token as their password. */
export async function gitOverHttp(
  root: string,
  {
    token,
    failures = 0,
    hangs = false,
    host = "127.0.0.1",
  }: {
    readonly token?: string;
    readonly failures?: number;
    readonly hangs?: boolean;
    /** Where it listens. */
    readonly host?: string;
  } = {},
): Promise<GitServer> {
  let requests = 0;
  const server = createServer((request, response) => {
    requests += 1;
    if (hangs) return;
    if (requests <= failures) return void response.writeHead(503).end("not now");
    const [, given = ""] = (request.headers.authorization ?? "").split(" ");
    const password = Buffer.from(given, "base64").toString().split(":").slice(1).join(":");
    if (token !== undefined && password !== token)
      return void response.writeHead(401, { "www-authenticate": 'Basic realm="git"' }).end("no");
    backend(root, request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, host, resolve));
  return {
    port: (server.address() as AddressInfo).port,
    requests: () => requests,
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
}

/** CGI, as RFC 3875 has it. */
function backend(root: string, request: IncomingMessage, response: ServerResponse): void {
  const url = new URL(request.url ?? "/", "http://git");
  const child = spawn("git", ["http-backend"], {
    env: {
      ...plainGit(root),
      GIT_PROJECT_ROOT: root,
      GIT_HTTP_EXPORT_ALL: "1",
      PATH_INFO: url.pathname,
      QUERY_STRING: url.search.slice(1),
      REQUEST_METHOD: request.method ?? "GET",
      CONTENT_TYPE: request.headers["content-type"] ?? "",
      HTTP_CONTENT_ENCODING: request.headers["content-encoding"] ?? "",
      GIT_PROTOCOL: [request.headers["git-protocol"] ?? ""].flat().join(),
      REMOTE_USER: "somebody",
    },
  });
  request.pipe(child.stdin);
  child.stdin.on("error", () => undefined);
  let head: Buffer | undefined = Buffer.alloc(0);
  child.stdout.on("data", (chunk: Buffer) => {
    if (head === undefined) return void response.write(chunk);
    head = Buffer.concat([head, chunk]);
    const end = head.indexOf("\r\n\r\n");
    if (end < 0) return;
    for (const line of head.subarray(0, end).toString().split("\r\n")) {
      const [name = "", value = ""] = line.split(/: (.*)/);
      if (name.toLowerCase() === "status") response.statusCode = Number.parseInt(value, 10);
      else response.setHeader(name, value);
    }
    response.write(head.subarray(end + 4));
    head = undefined;
  });
  child.on("close", () => response.end());
}

/** A server of SSH that takes one key and is known by its own. */
export interface SshServer extends Omit<GitServer, "requests"> {
  /** What makes `ssh` use the key, and know the server or another one. */
  readonly command: (known?: "known" | "unknown") => string;
}

/** A real sshd on loopback; files of it are made in a directory, which must be closed to others. */
export async function sshServer(directory: string): Promise<SshServer> {
  const keygen = (name: string) =>
    execFileSync("ssh-keygen", ["-q", "-t", "ed25519", "-N", "", "-f", `${directory}/${name}`]);
  for (const name of ["host", "user"]) keygen(name);
  execFileSync("cp", [`${directory}/user.pub`, `${directory}/authorized`]);
  // Of no use here, and sshd does not begin without it where it runs as root.
  if (process.getuid?.() === 0) mkdirSync("/run/sshd", { recursive: true });
  const port = await freePort();
  const settings = {
    Port: port,
    ListenAddress: "127.0.0.1",
    HostKey: `${directory}/host`,
    AuthorizedKeysFile: `${directory}/authorized`,
    PasswordAuthentication: "no",
    UsePAM: "no",
    StrictModes: "no",
    PidFile: "none",
  };
  writeFileSync(
    `${directory}/sshd_config`,
    Object.entries(settings)
      .map(([key, value]) => `${key} ${value}\n`)
      .join(""),
  );
  const child = spawn("/usr/sbin/sshd", ["-D", "-e", "-f", `${directory}/sshd_config`], {
    stdio: ["ignore", "ignore", "pipe"],
  });
  await new Promise<void>((resolve, reject) => {
    let said = "";
    child.stderr.on("data", (chunk: Buffer) => {
      said += chunk.toString();
      if (said.includes("Server listening")) resolve();
    });
    child.once("exit", (code) => reject(new Error(`sshd ended with ${code}: ${said}`)));
  });
  const host = spawnSync("cat", [`${directory}/host.pub`], { encoding: "utf8" }).stdout;
  writeFileSync(`${directory}/known`, `[127.0.0.1]:${port} ${host}`);
  writeFileSync(`${directory}/unknown`, "");
  return {
    port,
    command: (known = "known") =>
      `ssh -F none -i ${directory}/user -o IdentitiesOnly=yes -o UserKnownHostsFile=${directory}/${known} -l ${userInfo().username}`,
    close: () =>
      new Promise((resolve) => {
        child.once("exit", () => resolve());
        child.kill();
      }),
  };
}
