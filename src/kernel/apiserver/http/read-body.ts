import type { IncomingMessage } from "node:http";
import { tooLarge } from "#kernel/model/index.ts";

/**
 * The whole body, or 413 as soon as it is known to be too large: at once when its length is announced, else when it comes. What is
 * refused is left unread on its connection, which stays open for the answer. Rejects when the client goes away in the middle.
 */
export function readBody(request: IncomingMessage, maxBytes: number): Promise<Buffer> {
  const announced = Number(request.headers["content-length"] ?? "0");
  if (announced > maxBytes) return Promise.reject(bodyTooLarge(maxBytes));
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    const settle = (act: () => void): void => {
      request.off("data", take).off("end", finish).off("close", leave).off("error", leave);
      act();
    };
    const take = (chunk: Buffer): void => {
      size += chunk.length;
      chunks.push(chunk);
      if (size <= maxBytes) return;
      // Paused and not destroyed, as iterating over it would: that takes the connection away from the answer.
      request.pause();
      settle(() => reject(bodyTooLarge(maxBytes)));
    };
    const finish = (): void => settle(() => resolve(joined(chunks)));
    const leave = (): void => settle(() => reject(new Error("the client has left before its body was whole")));
    request.on("data", take).on("end", finish).on("close", leave).on("error", leave);
  });
}

const bodyTooLarge = (maxBytes: number) => tooLarge(`the body of the request is larger than ${maxBytes} bytes`);

/** Most bodies come in one piece, which is not copied. */
const joined = (chunks: readonly Buffer[]): Buffer =>
  chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks);
