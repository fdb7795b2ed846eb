/** All of standard input as text; at most 3 MiB, as the API server takes. */
export async function readStdin(): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of process.stdin) {
    const bytes = Buffer.from(chunk as Uint8Array);
    size += bytes.length;
    if (size > 3 * 1024 * 1024) throw new Error("standard input holds more than 3 MiB");
    chunks.push(bytes);
  }
  return Buffer.concat(chunks).toString("utf8");
}
