// Streams of Kubernetes over one WebSocket: every message is of one channel, whose number is its first byte.
//
//     exec, attach    0 stdin   1 stdout   2 stderr   3 error: one Status at the end   4 resize: {"Width": …, "Height": …}
//                     255 (v5 only): the channel named by the next byte has come to its end
//     port-forward    2i data of the i-th port   2i+1 its errors, as text

/** Channels of `pods/exec` and `pods/attach`. */
export const channels = { stdin: 0, stdout: 1, stderr: 2, error: 3, resize: 4, close: 255 } as const;

/** Of commands and attachments, the best first. Only v5 can say that stdin has ended before the connection does. */
export const commandProtocols: readonly string[] = ["v5.channel.k8s.io", "v4.channel.k8s.io"];

export const portProtocols: readonly string[] = ["v4.channel.k8s.io"];

/** Whether message 255 exists in this protocol. */
export const canEndChannels = (protocol: string): boolean => protocol.startsWith("v5.");

/** The channel's number, then a copy of the payload. */
export function encodeMessage(channel: number, payload: Uint8Array): Buffer {
  const message = Buffer.allocUnsafe(1 + payload.length);
  message[0] = channel;
  message.set(payload, 1);
  return message;
}

/** The first of `ours` in a `Sec-WebSocket-Protocol` header. */
export function chooseProtocol(offered: string | undefined, ours: readonly string[]): string | undefined {
  const names = (offered ?? "").split(",").map((name) => name.trim());
  return ours.find((name) => names.includes(name));
}
