import { Server, ServerCredentials, type ServerWritableStream } from "@grpc/grpc-js";
import { create, toBinary, wharfWorkerV1 } from "#kernel/rpc/index.ts";
import { replayLine, replayLines } from "../ours/replay-lines.ts";

// Floor of B9c: grpc-js is given a message for each line, made by generated code, as fast as it takes them. The lines are in memory.

const { Worker, StreamLogsResponseSchema } = wharfWorkerV1;

export async function start(): Promise<{ readonly port: number }> {
  const server = new Server();
  const same = (bytes: Buffer): Buffer => bytes;
  server.addService(
    {
      streamLogs: {
        path: `/${Worker.typeName}/StreamLogs`,
        requestStream: false,
        responseStream: true,
        requestSerialize: same,
        requestDeserialize: same,
        responseSerialize: same,
        responseDeserialize: same,
      },
    },
    { streamLogs: (call: ServerWritableStream<Buffer, Buffer>) => send(call) },
  );
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync("127.0.0.1:0", ServerCredentials.createInsecure(), (thrown, bound) =>
      thrown === null ? resolve(bound) : reject(thrown),
    );
  });
  return { port };
}

function send(call: ServerWritableStream<Buffer, Buffer>): void {
  const message = replayLine.slice(0, -1);
  const timestamp = { seconds: BigInt(Math.floor(Date.now() / 1000)), nanos: 123_000_000 };
  let sent = 0;
  const more = (): void => {
    while (sent < replayLines) {
      const line = create(StreamLogsResponseSchema, { logId: BigInt(++sent), stepId: 1n, timestamp, message });
      if (!call.write(Buffer.from(toBinary(StreamLogsResponseSchema, line)))) return void call.once("drain", more);
    }
    call.end();
  };
  more();
}
