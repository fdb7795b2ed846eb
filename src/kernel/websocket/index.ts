export { acceptChannels, acceptText, asksForWebSocket, handshakeProblem, type Upgrade } from "./accept.ts";
export { ChannelSocket, type Receive } from "./channel-socket.ts";
export {
  canEndChannels,
  channels,
  chooseProtocol,
  commandProtocols,
  portProtocols,
} from "./channels.ts";
export { type ConnectOptions, connectText, connectWebSocket, NotUpgraded } from "./connect.ts";
export type { Ending } from "./ending.ts";
export { TextSocket } from "./text-socket.ts";
export { writeTo } from "./write-to.ts";
