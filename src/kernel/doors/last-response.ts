import { type IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";

/** The answer to an upgrade, on a connection that Node has released, is its last. */
export function lastResponse(request: IncomingMessage, socket: Duplex): ServerResponse {
  const response = new ServerResponse(request);
  response.shouldKeepAlive = false;
  response.assignSocket(socket as Socket);
  // Connection errors only end the connection.
  socket.on("error", () => undefined);
  socket.on("drain", () => response.writableNeedDrain && response.emit("drain"));
  response.once("finish", () => request.socket.destroySoon());
  return response;
}
