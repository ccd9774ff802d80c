"""Find verbs of writing in names that are not English: deleting, sending, paying, creating."""

from __future__ import annotations

import re
import unicodedata
from typing import Final

from tools.name_words import split_camel_case

_LATIN: Final = {
    "shell and slang": (
        "rmrf rmdir chmod chown chgrp zap tidy hide suppress consume redeem toggle pop ack "
        "dequeue lease tweet dial"
    ),
    "German": (
        "losch* loesch* gelosch* entfern* vernicht* zerstor* bezahl* zahlen uberweis* ueberweis* "
        "senden sende versend* schreib* erstell* anleg* andern aendern geander* bearbeit* "
        "verschieb* umbenenn* hochlad* ausfuhr* ausfuehr* kaufen kaufe verkauf* buchen buche "
        "bestell* stornier* absag* aktualisier* hinzufug* hinzufueg* einfug* veroffentlich* "
        "speicher* uberschreib* zurucksetz* beend* deaktivier* aktivier* sperren tilgen "
        "installier* deinstallier*"
    ),
    "French": (
        "supprim* effac* detrui* retirer enlev* envoyer envoie envoyez ecrire ecris creer cree "
        "modifier achet* payer paiement* virement* virer publier ajout* renomm* deplac* "
        "televers* executer annuler arret* demarr* ecraser reinitialis* vider tuer transferer "
        "sauvegard* enregistr* deployer desactiv* inserer remplac*"
    ),
    "Spanish": (
        "borra* elimin* suprim* destru* enviar envia envie crear escrib* modificar actualiz* "
        "pagar pago pagos compra comprar vender transferir publicar ejecut* anad* agreg* guardar "
        "mover renombr* subir cancelar reservar detener iniciar instalar desinstal* quitar "
        "vaciar matar reinici* restablec* sobrescrib* insertar reemplaz* desplegar cerrar "
        "desactivar activar editar"
    ),
    "Portuguese": (
        "apagar apaga apague excluir exclui deletar remover criar escrev* atualiz* executar "
        "adicion* salvar renomear substituir gravar limpar destruir inserir"
    ),
    "Italian": (
        "cancell* rimuov* distrugg* invia inviare scriv* crea creare modifica modificare "
        "aggiorn* paga pagare pagamento acquist* trasfer* bonific* pubblic* esegu* aggiung* "
        "salva salvare sposta* rinomin* annull* caricare svuot* sovrascriv* uccid* disinstall* "
        "installare"
    ),
    "Dutch": (
        "verwijder* wissen vernietig* verstuur* verzend* stuur sturen schrijf* schrijv* "
        "aanmaken wijzig* bijwerk* betaal* betal* kopen overschrijv* uitvoer* toevoeg* opslaan "
        "verplaats* hernoem* annuleer* bewerk* installeer*"
    ),
    "Scandinavian": (
        "radera* slett* slet skicka* skriv* skapa* opprett* opret* kopa kjop* fjern* bort "
        "uppdater* oppdater* opdater* avbryt* flytt* lagra lagre"
    ),
    "Finnish": "poista* tuhoa* lahet* kirjoita* maksa* muokka* tallenna* siirra*",
    "Polish": (
        "usun* skasuj* kasuj* zniszcz* wysl* utworz* stworz* zapisz* edytuj* zaktualiz* zaplac* "
        "kupic przelej* przelew* wykonaj* dodaj* przenies* anuluj* wyczysc* nadpisz*"
    ),
    "Czech": (
        "smaz* odstran* vymaz* zmaz* zapis* vytvor* odesl* posl* zaplat* uprav* spust* znic*"
    ),
    "Hungarian": "torol* torles* kuld* fizet* letrehoz* modosit* megsemmisit*",
    "Romanian": "sterge* trimite* scrie* creeaza* platest* distruge*",
    "Turkish": (
        "sil silme silin* gonder* yazma olustur* odeme* guncelle* kaldir* yoket* imha calistir* "
        "satinal* ekle degistir* iptal yukle* sifirla*"
    ),
    "Indonesian": (
        "hapus* kirim* tulis* buat bayar* ubah* perbarui* jalankan* beli padam* hantar* musnah* "
        "batalkan* simpan* pindah* unggah*"
    ),
    "Vietnamese": "xoa xoabo gui thanhtoan capnhat",
    "Swahili": "futa tuma lipa",
    "Tagalog": "burahin magpadala isulat",
    "transcribed Russian": (
        "udalit* udali* otprav* sozdat* zapisat* oplat* steret* unichtoz* perevesti vypolnit* "
        "obnovit* izmenit*"
    ),
    "transcribed Chinese": (
        "shanchu fasong chuangjian xiugai zhifu zhuanzhang xieru zhixing qingkong xiaohui "
        "shangchuan gengxin tianjia"
    ),
    "transcribed Japanese": (
        "sakujo soushin sakusei kakikomi koushin shiharai kounyuu jikkou hakai shoukyo henkou "
        "tsuika"
    ),
    "transcribed Korean, Hindi and Arabic": (
        "sakje jeonsong saengseong mitao mitana hatao bhejo likho bhugtan hadhf hazf irsal"
    ),
}
_OTHER_SCRIPTS: Final = {
    "Cyrillic": (
        "удал* стереть сотр* уничтож* отправ* послать пошли созда* напис* записать запиши измен* "
        "обнов* оплат* платеж* заплат* купить купи покупк* перевести перечисл* выполн* запуст* "
        "останов* добав* перемест* переимен* очист* сброс* заблок* опублик* загруз* видал* "
        "надісл* створ* змін* изтрий* изпрат* обриш* избриш* пошаљ* установ* исполн* убить "
        "закрыть отмен*"
    ),
    "Greek": (
        "διαγρ* σβησ* καταστρ* αποστ* στειλ* γραψ* δημιουργ* πληρω* εκτελ* αγορασ* ενημερ* "
        "αφαιρ* μεταφορ* ακυρ*"
    ),
}
_UNSPACED: Final = {
    "Chinese": (
        "删除 刪除 移除 销毁 銷毀 清空 清除 擦除 发送 發送 发布 發布 發佈 写入 寫入 创建 創建 "
        "建立 新建 修改 更新 编辑 編輯 支付 付款 转账 轉帳 轉賬 购买 購買 下单 下單 执行 執行 "
        "运行 運行 上传 上傳 添加 新增 插入 覆盖 覆蓋 重置 重启 重啟 关闭 關閉 停止 启动 啟動 "
        "终止 終止 取消 提交 保存 储存 儲存 移动 移動 重命名 部署 安装 安裝 卸载 卸載 授权 授權 "
        "撤销 撤銷 退款 充值 提现 提現 格式化 封禁 禁用 启用 啟用 注销 订购 预订"
    ),
    "Japanese": (
        "削除 消去 破棄 破壊 送信 書き込 書込 作成 変更 編集 支払 購入 振込 送金 実行 追加 投稿 "
        "公開 上書 初期化 起動 登録 解除 アップロード デリート インストール 消す 送る 書く "
        "買う 払う 注文 予約"
    ),
    "Korean": (
        "삭제 제거 지우 파기 전송 보내 발송 작성 쓰기 생성 수정 변경 업데이트 갱신 결제 지불 구매 "
        "송금 이체 실행 추가 업로드 저장 이동 초기화 중지 시작 취소 등록 배포 설치 주문 예약 폐기 "
        "편집"
    ),
    "Arabic and Persian": (
        "حذف ازالة مسح تدمير ارسال كتابة اكتب انشاء تعديل تحديث دفع شراء تحويل تنفيذ اضافة نشر "
        "رفع الغاء تثبيت نقل حفظ نوشتن پرداخت خرید ایجاد ویرایش پاک اجرا انتقال نابود"
    ),
    "Hebrew": "מחק מחיק הסר השמד שלח כתוב צור ערוך עדכן שלם תשלום קנה העבר הרץ הוסף בטל התקן",
    "Hindi": "हटा मिटा डिलीट भेज लिख बना भुगतान खरीद अपडेट संपादित स्थानांतर नष्ट चला",
    "Thai": "ลบ ส่ง เขียน สร้าง แก้ไข ชำระ จ่าย ซื้อ โอน ทำลาย เพิ่ม อัปเดต ย้าย ยกเลิก บันทึก",
}
KNOWN_SCRIPTS: Final = frozenset(
    {
        "LATIN", "CYRILLIC", "GREEK", "CJK", "HIRAGANA", "KATAKANA", "KATAKANA-HIRAGANA", "HANGUL",
        "ARABIC", "HEBREW", "DEVANAGARI", "THAI",
    }
)  # fmt: skip
"""Scripts for which some verbs are listed, by the first word of a letter's Unicode name."""
_UNDECOMPOSED: Final = str.maketrans(
    {"ł": "l", "ø": "o", "ı": "i", "đ": "d", "æ": "ae", "ð": "d", "þ": "th", "œ": "oe"}
)
_MIN_CHARS: Final = 3
"""Of the shortest verb that is written with spaces around it."""
_INVISIBLE: Final = ("Mn", "Cf")
_WORD: Final = re.compile(r"[^\W\d_]+")


def find_foreign_verbs(text: str) -> tuple[str, ...]:
    """Return the words of a name that are verbs of writing in other languages than English.

    The list covers the most common verbs of the most common languages; a name without a match is
    not proven harmless. Accents are ignored, and so is the spelling of a word's ending.

    Example:
        >>> find_foreign_verbs("datei_löschen"), find_foreign_verbs("文件删除")
        (('loschen',), ('删除',))
        >>> find_foreign_verbs("get_weather")
        ()
    """
    words = list_folded_words(text)
    found = [word for word in words if len(word) >= _MIN_CHARS and _VERB.fullmatch(word)]
    if not text.isascii():
        found += [match[0] for match in _UNSPACED_VERB.finditer(_fold(text))]
    return tuple(dict.fromkeys(found))


def list_folded_words(text: str) -> tuple[str, ...]:
    """Split a name of any script into case-folded words without accents and digits.

    Example:
        >>> list_folded_words("УдалитьФайл_2")
        ('удалить', 'фаил')
    """
    if text.isascii():
        return tuple(_WORD.findall(split_camel_case(text).lower()))
    normal = unicodedata.normalize("NFKC", text)
    spaced = "".join(
        f" {char}" if char.isupper() and at and normal[at - 1].islower() else char
        for at, char in enumerate(normal)
    )
    return tuple(_WORD.findall(_fold(spaced)))


def _fold(text: str) -> str:
    decomposed = unicodedata.normalize("NFKD", text.casefold())
    visible = "".join(char for char in decomposed if unicodedata.category(char) not in _INVISIBLE)
    return unicodedata.normalize("NFC", visible).translate(_UNDECOMPOSED)


def _compile_verbs() -> re.Pattern[str]:
    """Return a pattern of whole words; a stem with `*` matches with any ending."""
    stems = " ".join([*_LATIN.values(), *_OTHER_SCRIPTS.values()]).split()
    patterns = [
        re.escape(_fold(stem.removesuffix("*"))) + (r"\w*" if stem.endswith("*") else "")
        for stem in dict.fromkeys(stems)
    ]
    return re.compile("|".join(patterns))


_VERB: Final = _compile_verbs()
_UNSPACED_VERB: Final = re.compile(
    "|".join(re.escape(_fold(verb)) for verb in " ".join(_UNSPACED.values()).split())
)
