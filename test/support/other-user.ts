import { chownSync } from "node:fs";
import { execFile, execFileSync } from "node:child_process";
import { needRoot } from "./need-root.ts";
import { removeDirectory, temporaryDirectory } from "./slipway.ts";

/** What a program of another user printed, on both streams, and how it ended. */
export interface DoneByOther {
  readonly code: number | null;
  readonly out: string;
}

/** Another Unix user of this machine, `nobody`, with none of this user's credentials. Becoming that user takes root. */
export class OtherUser {
  /** A directory of that user alone. */
  readonly home: string;
  readonly #uid: number;

  private constructor(home: string, uid: number) {
    this.home = home;
    this.#uid = uid;
  }

  static async open(): Promise<OtherUser> {
    needRoot("run programs as another user");
    const home = await temporaryDirectory();
    const uid = Number(execFileSync("id", ["-u", "nobody"], { encoding: "utf8" }));
    chownSync(home, uid, uid);
    return new OtherUser(home, uid);
  }

  /** Runs a program as that user. */
  run(program: string, words: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<DoneByOther> {
    const environment = { PATH: process.env["PATH"] ?? "/usr/bin:/bin", HOME: this.home, TMPDIR: this.home, ...env };
    const options = { uid: this.#uid, gid: this.#uid, cwd: this.home, env: environment, timeout: 60_000 };
    return new Promise((resolve) => {
      execFile(program, [...words], options, (error, out, err) => {
        const code = error === null ? 0 : typeof error.code === "number" ? error.code : null;
        resolve({ code, out: `${out}${err}` });
      });
    });
  }

  /** What a server answers to curl of that user: the status, 0 without an answer, and headers and body as one text. */
  async ask(url: string, ...words: readonly string[]): Promise<{ readonly status: number; readonly text: string }> {
    const flags = ["--silent", "--insecure", "--include", "--max-time", "20", "--write-out", "\n%{http_code}"];
    const { out } = await this.run("curl", [...flags, ...words, url]);
    const at = out.lastIndexOf("\n");
    return { status: Number(out.slice(at + 1)), text: out.slice(0, at) };
  }

  async close(): Promise<void> {
    await removeDirectory(this.home);
  }
}
