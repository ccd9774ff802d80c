"""Names of tools that write, each written so that a reader may miss it."""

from __future__ import annotations

import unicodedata

VERBS = (
    "delete", "remove", "purge", "rm", "drop", "destroy", "erase", "wipe", "truncate", "kill",
    "terminate", "shred", "uninstall", "publish", "deploy", "broadcast", "pay", "refund",
    "withdraw", "transfer", "execute", "exec", "eval", "overwrite", "revoke", "reset", "shutdown",
    "create", "update", "write", "insert", "upload", "approve", "merge", "edit",
)  # fmt: skip
LOOKALIKES = {"a": "\u0430", "e": "\u0435", "o": "\u043e", "p": "\u0440", "c": "\u0441"}
GREEK = {"o": "\u03bf", "v": "\u03bd", "i": "\u03b9", "t": "\u03c4", "u": "\u03c5", "k": "\u03ba"}
SPECIAL = (
    "wire_transfer", "undelete", "getAndDestroy", "getanddestroy", "get_and_delete",
    "listThenPurge", "readAndErase", "fetch_or_create", "DELETE", "Delete File", "file.delete",
    "file/delete",
    "send_email", "sendEmail", "SEND-EMAIL", "email_customer", "place_order", "make_payment",
    "run_shell", "run_command", "runCode", "osascript", "powershell", "sudo", "bulkDelete",
    "bulk_remove", "mass_mail_send_email", "forceDelete", "softdelete", "auto_delete", "redeploy",
    "unpublish", "unsubscribe", "rollback", "roll_back", "format_disk", "force_push", "git_push",
    "killall", "droptable", "deletefile", "rmdir", "trash_file", "d3l3te", "de1ete",
    "delete2", "delete_v2", "v2delete", "2delete", "\u24b9elete", "\U0001d41delete_all",
    "\uff44\uff45\uff4c\uff45\uff54\uff45", "d\u0301elete", "de\u00adlete", "de\u034flete",
    "\u202edelete", "de\u3164lete", "delete\ufe0f", "dele\U000e0074te", "\u0435\u0445\u0435\u0441",
)  # fmt: skip
FOREIGN = (
    "datei_löschen", "loescheDatei", "zahlung_senden", "geldÜberweisen", "supprimer_fichier",
    "EffacerTout", "envoyer_argent", "payer_facture", "borrar_todo", "eliminarUsuario",
    "enviar_dinero", "apagar_arquivo", "excluirConta", "deletar_usuario", "cancella_tutto",
    "inviaDenaro", "pubblica_post", "verwijder_alles", "verzend_mail", "radera_fil", "slett_fil",
    "poista_tiedosto", "usuń_plik", "wyślij_przelew", "smazat_soubor", "odeslat_platbu",
    "fájl_törlése", "șterge_fișier", "dosyayı_sil", "ödeme_gönder", "hapus_semua", "kirim_uang",
    "xóa_tệp", "futa_faili", "burahin_lahat", "удалить_файл", "УдалитьВсё", "отправить_деньги",
    "создать_запись", "видалити_файл", "διαγραφή_αρχείου", "删除文件", "刪除檔案", "清空数据库",
    "发送邮件", "转账", "ファイル削除", "送金する", "파일삭제", "송금하기", "حذف_الملف",
    "إرسال_الأموال", "מחק_קובץ", "शुल्क_भुगतान", "ลบไฟล์", "udalit_vse", "shanchu_wenjian",
    "sakujo_file", "sakje_file",
)  # fmt: skip


def _swap(word: str, letters: dict[str, str]) -> str:
    return "".join(letters.get(char, char) for char in word)


def list_names() -> tuple[str, ...]:
    """Return all names, each once."""
    names = [*SPECIAL, *FOREIGN]
    for verb in VERBS:
        camel = verb.capitalize()
        names += [
            verb, f"{verb}_items", f"{verb}-items", f"{verb}Items", f"items_{verb}",
            f"getAnd{camel}", f"get_and_{verb}", f"{verb.upper()}_ALL", f"un{verb}",
            f"{verb[0]}\u200b{verb[1:]}_items", f"{verb}2",
            "".join(chr(ord(char) + 0xFEE0) for char in verb),
            unicodedata.normalize("NFD", _swap(verb, LOOKALIKES)), _swap(verb, GREEK),
        ]  # fmt: skip
    return tuple(dict.fromkeys(names))
