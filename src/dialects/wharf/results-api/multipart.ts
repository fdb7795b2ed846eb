import { Busboy, type BusboyHeaders } from "@fastify/busboy";
import type { IncomingMessage } from "node:http";
import type { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { messageOf } from "#lib/base/index.ts";
import { refuse } from "../http/problem.ts";
import { Changes } from "../results/changes.ts";

/** Read the bytes before requesting the next file. */
export interface FormFile {
  readonly field: string;
  readonly fileName: string;
  readonly contentType: string;
  readonly bytes: Readable;
}

const limits = { files: 1000, fields: 100, fieldSize: 64 * 1024, headerPairs: 100 };

/** Streams the files of a form in constant memory. Refuses other bodies, too many files and broken ones. */
export async function* formFiles(request: IncomingMessage): AsyncGenerator<FormFile, void> {
  const parser = openParser(request);
  const changes = new Changes();
  const files: FormFile[] = [];
  let failure: Error | undefined;
  let isOver = false;
  parser.on("file", (field, bytes, fileName, _encoding, contentType) => {
    // Readers get the error; without a reader it is ignored.
    bytes.on("error", () => undefined);
    files.push({ field, fileName, contentType, bytes });
    changes.tell();
  });
  parser.on("filesLimit", () => parser.destroy(new Error(`expected at most ${limits.files} files`)));
  const piping = pipeline(request, parser)
    .catch((thrown: unknown) => {
      failure = refuse("unexpected-multipart-read-error", messageOf(thrown), { cause: thrown });
      for (const { bytes } of files) bytes.destroy(failure);
      current?.bytes.destroy(failure);
    })
    .finally(() => {
      isOver = true;
      changes.tell();
    });
  let current: FormFile | undefined;
  try {
    for (;;) {
      const { version } = changes;
      const file = files.shift();
      if (file !== undefined) {
        current = file;
        yield file;
        current = undefined;
        // Skips what was not read, so that the next file can come.
        file.bytes.resume();
      } else if (failure !== undefined) throw failure;
      else if (isOver) return;
      else await changes.after(version);
    }
  } finally {
    if (!isOver) {
      parser.destroy();
      await piping;
    }
  }
}

/** Busboy also reads other bodies, which are refused. */
function openParser(request: IncomingMessage): InstanceType<typeof Busboy> {
  const headers: BusboyHeaders = { ...request.headers, "content-type": request.headers["content-type"] ?? "" };
  try {
    if (!/^multipart\/form-data\b/i.test(headers["content-type"])) throw new Error("it is no multipart/form-data");
    return new Busboy({ headers, limits });
  } catch (cause) {
    throw refuse("unexpected-multipart-read-error", `expected a form with files: ${messageOf(cause)}`, { cause });
  }
}
