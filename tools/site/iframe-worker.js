// The search is a worker, and a browser starts none for a page that was opened from a folder.
// There its script runs in a hidden frame, which is the page's own and so may be reached from it.
// (Material's offline plugin fetches a script for this, unless the site has one of this name.)
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      this.waiting = [];
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      document.body.append(this.frame);
      this.inside = this.frame.contentWindow;
      this.inside.postMessage = (data) => this.tell(new MessageEvent("message", { data }));
      const script = this.inside.document.createElement("script");
      script.onload = () => {
        this.waiting.forEach((data) => this.deliver(data));
        this.waiting = null;
      };
      script.src = new URL(url, document.baseURI).href;
      this.inside.document.body.append(script);
    }

    // From the worker.
    tell(event) {
      this.dispatchEvent(event);
      this.onmessage?.(event);
    }

    // To the worker, once its script is there.
    postMessage(data) {
      const copy = structuredClone(data);
      this.waiting ? this.waiting.push(copy) : this.deliver(copy);
    }

    deliver(data) {
      const event = new this.inside.MessageEvent("message", { data });
      this.inside.dispatchEvent(event);
    }

    terminate() {
      this.frame.remove();
    }
  };
}
