import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { promisify } from "node:util";

const openssl = async (folder: string, ...args: readonly string[]): Promise<unknown> =>
  await promisify(execFile)("openssl", args, { cwd: folder });

/** A certificate authority in a directory of its own, and certificates that it has signed: PEM files made by openssl. */
export class CertificateFolder {
  readonly path = mkdtempSync(`${tmpdir()}/certificates-`);

  static async create(): Promise<CertificateFolder> {
    const folder = new CertificateFolder();
    const key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", "ca.key"];
    await openssl(folder.path, "req", "-x509", ...key, "-out", "ca.crt", "-subj", "/CN=test", "-days", "2");
    return folder;
  }

  /** Makes `NAME.crt` and `NAME.key`; `names` are alternative names as openssl writes them. */
  async sign(name: string, commonName: string, names = "IP:127.0.0.1"): Promise<void> {
    const key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", `${name}.key`];
    await openssl(this.path, "req", ...key, "-out", `${name}.csr`, "-subj", `/CN=${commonName}`);
    writeFileSync(`${this.path}/${name}.ext`, `subjectAltName=${names}\n`);
    const ca = ["-CA", "ca.crt", "-CAkey", "ca.key", "-CAcreateserial", "-extfile", `${name}.ext`];
    await openssl(this.path, "x509", "-req", "-in", `${name}.csr`, ...ca, "-out", `${name}.crt`, "-days", "2");
  }

  file(name: string): string {
    return `${this.path}/${name}`;
  }

  read(name: string): Buffer {
    return readFileSync(this.file(name));
  }

  close(): void {
    rmSync(this.path, { recursive: true, force: true });
  }
}
