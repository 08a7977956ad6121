import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { defineConfig, type Plugin } from "vite";

const MAX_BYTES = 600_000;

/** Fails the build if the page, compressed, outgrows its bound. */
function bounded(): Plugin {
  return {
    name: "bounded",
    generateBundle(_, bundle) {
      let size = 0;
      for (const file of Object.values(bundle)) {
        size += gzipSync(file.type === "chunk" ? file.code : file.source).length;
      }
      if (size > MAX_BYTES) this.error(`the page has ${size} bytes compressed; at most ${MAX_BYTES} are allowed`);
      this.info(`the page has ${size} bytes compressed`);
    },
  };
}

/** Puts the licences of the packages in the page beside it, as their authors ask. */
function licences(): Plugin {
  return {
    name: "licences",
    generateBundle(_, bundle) {
      const folders = new Set<string>();
      for (const file of Object.values(bundle)) {
        for (const id of file.type === "chunk" ? Object.keys(file.modules) : []) {
          const match = /^\0?(.*\/node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(id);
          if (match?.[1] && existsSync(join(match[1], "package.json"))) folders.add(match[1]);
        }
      }
      const texts = [...folders].sort().map((folder) => {
        const about = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as { name: string; version: string; license: string };
        const file = readdirSync(folder).find((name) => /^licen[cs]e/i.test(name));
        const text = file ? readFileSync(join(folder, file), "utf8").trim() : "";
        return `${about.name} ${about.version} (${about.license})\n\n${text}`.trim();
      });
      this.emitFile({ type: "asset", fileName: "licenses.txt", source: texts.join("\n\n---\n\n") + "\n" });
    },
  };
}

export default defineConfig({
  base: "/",
  plugins: [bounded(), licences()],
  build: {
    outDir: "../src/polygraph/server/page",
    emptyOutDir: true,
    // Inlined files would be data: addresses, which the content security policy forbids.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    target: "es2022",
    reportCompressedSize: false,
  },
});
