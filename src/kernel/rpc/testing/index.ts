export { isRefused, type Headers, type Received, type Refused, RpcClient } from "./rpc-client.ts";
