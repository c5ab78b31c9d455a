// Builds the page as one file: index.html with its script and its style inside, and their hashes
// for the Content-Security-Policy.
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import { defineConfig, type Plugin } from 'vite';

// The packages that are copied into the page. Their licences require a copy in it.
const INLINED = ['preact', 'uplot'];

function licences(): string {
  const texts = INLINED.map((name) => {
    const text = readFileSync(`node_modules/${name}/LICENSE`, 'utf8').trim();
    const { version } = JSON.parse(readFileSync(`node_modules/${name}/package.json`, 'utf8')) as {
      version: string;
    };
    return `${name} ${version}\n\n${text}`;
  });
  const comment = `LICENSES of the libraries in this page\n\n${texts.join('\n\n')}\n`;
  if (comment.includes('--')) throw new Error('a licence has --, which ends an HTML comment');
  return `<!--\n${comment}-->\n`;
}

function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('base64');
}

// gzip without a time and a system, so that equal pages have equal bytes.
function compressed(text: string): Buffer {
  const bytes = gzipSync(text, { level: 9 });
  bytes.fill(0, 4, 8);
  bytes[9] = 255;
  return bytes;
}

function onePage(): Plugin {
  return {
    name: 'one-page',
    enforce: 'post',
    generateBundle(_, bundle) {
      let page = '';
      let script = '';
      let style = '';
      for (const [name, file] of Object.entries(bundle)) {
        if (file.type === 'chunk') {
          if (script !== '') throw new Error('the page must have one script');
          script = file.code.trim();
        } else if (name.endsWith('.css')) {
          style += String(file.source).trim();
        } else if (name === 'index.html') {
          page = String(file.source);
        }
        delete bundle[name];
      }
      if (/<\/script|<!--/i.test(script)) throw new Error('the script would end in its middle');
      page = page
        .replace(/\s*<link rel="stylesheet"[^>]*>/, '')
        .replace(/\s*<script type="module"[^>]*><\/script>/, '')
        .replace('</head>', () => `<style>${style}</style>\n  </head>`)
        .replace('</body>', () => `<script type="module">${script}</script>\n  </body>`)
        .replace('</html>', () => `${licences()}</html>`);
      this.emitFile({ type: 'asset', fileName: 'index.html', source: page });
      this.emitFile({ type: 'asset', fileName: 'index.html.gz', source: compressed(page) });
      this.emitFile({
        type: 'asset',
        fileName: 'csp.txt',
        source: `${hashOf(script)}\n${hashOf(style)}\n`, // SHA-256 of the script, of the style
      });
    },
  };
}

export default defineConfig({
  logLevel: 'warn',
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  build: {
    target: 'es2022',
    assetsInlineLimit: 0,
    cssCodeSplit: false,
    modulePreload: false,
    reportCompressedSize: false,
  },
  plugins: [onePage()],
});
