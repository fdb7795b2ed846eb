export { acceptChannels, asksForWebSocket, handshakeProblem, type Upgrade } from "./accept.ts";
export { ChannelSocket, type Ending, type Receive } from "./channel-socket.ts";
export {
  canEndChannels,
  channels,
  chooseProtocol,
  commandProtocols,
  portProtocols,
} from "./channels.ts";
export { type ConnectOptions, connectWebSocket, NotUpgraded } from "./connect.ts";
export { acceptText, connectText, TextSocket } from "./text-socket.ts";
export { writeTo } from "./write-to.ts";
