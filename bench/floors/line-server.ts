import { type FileHandle, open, stat } from "node:fs/promises";
import { join } from "node:path";
import { Server, ServerCredentials, type ServerReadableStream } from "@grpc/grpc-js";
import { linePath } from "../ours/log-lines.ts";

// Floor of B9: grpc-js takes one message for each line of a stream and writes what has come to a file, which is flushed before the stream
// is answered. No numbers, no times, no limits.

let path = "";

export async function start({ dir }: { readonly dir: string }): Promise<{ readonly port: number }> {
  path = join(dir, "lines.log");
  const server = new Server();
  const same = (bytes: Buffer): Buffer => bytes;
  server.addService(
    {
      push: {
        path: linePath,
        requestStream: true,
        responseStream: false,
        requestSerialize: same,
        requestDeserialize: same,
        responseSerialize: same,
        responseDeserialize: same,
      },
    },
    {
      push(call: ServerReadableStream<Buffer, Buffer>, answer: (thrown: Error | null, message?: Buffer) => void) {
        keep(call).then(
          () => answer(null, Buffer.alloc(0)),
          (thrown: unknown) => answer(thrown instanceof Error ? thrown : new Error("nothing was kept")),
        );
      },
    },
  );
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync("127.0.0.1:0", ServerCredentials.createInsecure(), (thrown, bound) =>
      thrown === null ? resolve(bound) : reject(thrown),
    );
  });
  return { port };
}

/** Writes are gathered, as anybody would. */
const gathered = 64 * 1024;

async function keep(lines: AsyncIterable<Buffer>): Promise<void> {
  const file = await open(path, "a");
  try {
    let [batch, size]: [Buffer[], number] = [[], 0];
    for await (const line of lines) {
      batch.push(line);
      size += line.length;
      if (size < gathered) continue;
      await writeAll(file, batch);
      [batch, size] = [[], 0];
    }
    await writeAll(file, batch);
    await file.datasync();
  } finally {
    await file.close();
  }
}

async function writeAll(file: FileHandle, batch: readonly Buffer[]): Promise<void> {
  const bytes = Buffer.concat(batch);
  await file.write(bytes);
}

/** Bytes that are in the file. */
export const kept = async (): Promise<number> => (await stat(path)).size;
